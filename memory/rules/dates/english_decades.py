"""When the decade of a match is, which may as well be degrees."""

from __future__ import annotations

import re
from datetime import datetime

from muniment.memory.rules.language import calendar
from muniment.memory.rules.language.calendar import When
from muniment.memory.rules.language.lazy_regex import late

PART = r"(?:(?P<part>early|mid|late)[\s-]+)?"
TENS = ("thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties")
_HEAT = late(r"\b(?:temperatures?|degrees|fahrenheit|weather|forecast|humid|heatwave|percent)\b|[°%]", re.IGNORECASE)
_REACH = 200  # characters on either side that tell of heat
_YEARS_OF_A_CENTURY, _TWENTIES = 100, 2020


def decade(found: re.Match[str], at: datetime, lean: int) -> When | None:
    part, tens = (found["part"] or "").casefold(), found.groupdict().get("tens")
    if _heat(found):
        return None  # degrees
    said = 10 * TENS.index(tens.casefold()) + 30 if tens else int(found["decade"])
    return When(calendar.decade(at, said if said > _YEARS_OF_A_CENTURY else 1900 + said, part), "decade", part=part)


def twenties(found: re.Match[str], at: datetime, lean: int) -> When | None:
    """Those of this century, of which a statement of the past may not tell."""
    if lean < 0 or at.year < _TWENTIES or _heat(found):
        return None
    said = (found["part"] or "").casefold()
    return When(calendar.decade(at, _TWENTIES, said), "decade", part=said)


def _heat(found: re.Match[str]) -> bool:
    """Whether degrees are meant, by the words around."""
    return _HEAT.search(found.string, max(0, found.start() - _REACH), found.end() + _REACH) is not None
