"""The decade of a match, unless it means degrees."""

from __future__ import annotations

import re
from datetime import datetime

from muniment.memory.rules.language import calendar
from muniment.memory.rules.language.calendar import DatePeriod
from muniment.memory.rules.language.lazy_regex import lazy_compile

PART = r"(?:(?P<part>early|mid|late)[\s-]+)?"
TENS = ("thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties")
_TEMPERATURE = lazy_compile(
    r"\b(?:temperatures?|degrees|fahrenheit|weather|forecast|humid|heatwave|percent)\b|[°%]", re.IGNORECASE
)
_REACH = 200  # characters on either side that may name heat
_YEARS_OF_A_CENTURY, _TWENTIES = 100, 2020


def resolve_decade(match: re.Match[str], at: datetime, direction: int) -> DatePeriod | None:
    """The decade of a match, or None for degrees. Two figures mean the twentieth century."""
    part, tens = (match["part"] or "").casefold(), match.groupdict().get("tens")
    if _is_temperature(match):
        return None
    number = 10 * TENS.index(tens.casefold()) + 30 if tens else int(match["decade"])
    return DatePeriod(
        calendar.get_decade_start(at, number if number > _YEARS_OF_A_CENTURY else 1900 + number, part),
        "decade",
        part=part,
    )


def resolve_twenties(match: re.Match[str], at: datetime, direction: int) -> DatePeriod | None:
    """The twenties of this century. None for degrees, and in a text about the past, which may mean the last century."""
    if direction < 0 or at.year < _TWENTIES or _is_temperature(match):
        return None
    part = (match["part"] or "").casefold()
    return DatePeriod(calendar.get_decade_start(at, _TWENTIES, part), "decade", part=part)


def _is_temperature(match: re.Match[str]) -> bool:
    """Whether the words around a match are about heat."""
    return _TEMPERATURE.search(match.string, max(0, match.start() - _REACH), match.end() + _REACH) is not None
