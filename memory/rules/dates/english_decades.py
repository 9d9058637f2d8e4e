"""When the decade of a match is, which may as well be degrees."""

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
_REACH = 200  # characters on either side that tell of heat
_YEARS_OF_A_CENTURY, _TWENTIES = 100, 2020


def resolve_decade(match: re.Match[str], at: datetime, direction: int) -> DatePeriod | None:
    part, tens = (match["part"] or "").casefold(), match.groupdict().get("tens")
    if _is_temperature(match):
        return None  # degrees
    said = 10 * TENS.index(tens.casefold()) + 30 if tens else int(match["decade"])
    return DatePeriod(
        calendar.get_decade_start(at, said if said > _YEARS_OF_A_CENTURY else 1900 + said, part), "decade", part=part
    )


def resolve_twenties(match: re.Match[str], at: datetime, direction: int) -> DatePeriod | None:
    """Those of this century, of which a statement of the past may not tell."""
    if direction < 0 or at.year < _TWENTIES or _is_temperature(match):
        return None
    said = (match["part"] or "").casefold()
    return DatePeriod(calendar.get_decade_start(at, _TWENTIES, said), "decade", part=said)


def _is_temperature(match: re.Match[str]) -> bool:
    """Whether degrees are meant, by the words around."""
    return _TEMPERATURE.search(match.string, max(0, match.start() - _REACH), match.end() + _REACH) is not None
