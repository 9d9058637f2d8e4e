"""What a query says about what it wants: whose, from when, and whom or what it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from muniment.memory.rules import calendar, dates, words
from muniment.memory.rules.calendar import When

Period = tuple[datetime, datetime]
_NAME = re.compile(r"(?<!^)(?<![.!?] )\b[A-Z]\w*")
_FOR_A_NAME = re.compile(r"\W*(?:who|where|which|whose)\b|.*(?:谁|哪)", re.IGNORECASE)
_CALENDAR = frozenset((*calendar.MONTHS, "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"))
_YEARS = (-12, 2)  # a month without a year is that of each of these years, counted from now
_DAYS = {"day": 1, "about": 1, "weekend": 2, "week": 7}
_MONTHS = {"month": 1, "season": 3, "year": 12}


def for_a_name(query: str) -> bool:
    """Whether a query wants to know who, where or which."""
    return _FOR_A_NAME.match(query) is not None


def names(query: str) -> frozenset[str]:
    """The terms of a query that are proper nouns: capitalised, not at the start of a sentence, no month or weekday."""
    found = (match[0] for match in _NAME.finditer(query) if match[0] not in _CALENDAR)
    return frozenset(term for one in found for term in words.terms(one))


def periods(query: str, now: datetime) -> tuple[Period, ...]:
    """The periods that a query names, each from its first moment to before its end."""
    return tuple(period for mention in dates.mentions(query, now) for period in _periods(mention, now))


def nearness(moment: datetime, periods: tuple[Period, ...], *, before: float, after: float) -> float:
    """1 within one of the periods, and less the further from it, down to 0 at so many days before or after it."""
    return max((_near(moment, start, end, before, after) for start, end in periods), default=0.0)


def _near(moment: datetime, start: datetime, end: datetime, before: float, after: float) -> float:
    late, early = (moment - end) / timedelta(days=after), (start - moment) / timedelta(days=before)
    return max(0.0, 1 - max(0.0, late, early))


def _periods(mention: dates.Mention, now: datetime) -> Iterator[Period]:
    when = mention.when
    for year in range(now.year + _YEARS[0], now.year + _YEARS[1] + 1) if mention.partial else [when.start.year]:
        try:
            start = when.start.replace(year=year)
            yield start, _end(when, start)
        except (ValueError, OverflowError):  # 29 February, the end of the calendar
            continue


def _end(when: When, start: datetime) -> datetime:
    if when.grain in _DAYS:
        return start + timedelta(days=_DAYS[when.grain])
    return calendar.months(start, _MONTHS[when.grain])
