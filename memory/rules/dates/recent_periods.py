"""So much time up to now, as a query names it: `in the last two weeks`, 「最近三个月」.

No date of a statement: what was so for two years when it was said is not so of those two years alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice

from muniment.memory.rules.dates.chinese import parse_number
from muniment.memory.rules.dates.english_counts import COUNT, parse_count
from muniment.memory.rules.dates.spans import Span
from muniment.memory.rules.language.lazy_regex import lazy_compile

_UNIT = r"(?P<unit>day|week|fortnight|month|year)s?\b(?!\s+of\b)"
_ENGLISH = (
    lazy_compile(
        rf"\b(?:in|over|during|within|for|throughout)\s+(?:the|my)\s+(?:last|past|previous)\s+(?:{COUNT}\s+)?{_UNIT}",
        re.IGNORECASE,
    ),
    lazy_compile(rf"\b(?:last|past|previous)\s+{COUNT}\s+{_UNIT}", re.IGNORECASE),
)
_CHINESE = lazy_compile(
    r"(?:过去|最近|近)的?这?(?P<count>\d{1,3}|[一二三四五六七八九]?十[一二三四五六七八九]?"
    r"|[一二两三四五六七八九几半])个?(?P<unit>天|日|周|星期|礼拜|月|年)(?!代)"
)
_HALF = "半"
_DAYS = {
    "day": 1.0,
    "week": 7.0,
    "fortnight": 14.0,
    "month": 30.4,
    "year": 365.25,
    "天": 1.0,
    "日": 1.0,
    "周": 7.0,
    "星期": 7.0,
    "礼拜": 7.0,
    "月": 30.4,
    "年": 365.25,
}


def find_recent_periods(query: str, now: datetime, limit: int) -> list[Span]:
    """The first such periods of a query, at most so many."""
    return list(islice(_iterate_periods(query, now), limit))


def _iterate_periods(query: str, now: datetime) -> Iterator[Span]:
    for pattern in (*_ENGLISH, _CHINESE):
        for found in pattern.finditer(query):
            said = found["count"]
            many = (
                1
                if not said
                else 0.5
                if said == _HALF
                else parse_number(said)
                if pattern is _CHINESE
                else parse_count(said)[0]
            )
            try:
                start = now - timedelta(days=round(many * _DAYS[found["unit"].casefold()]))
            except OverflowError:
                continue
            if start < now:
                yield Span(found.start(), found.end(), ((start, now),))
