"""Periods that end now, as a query names them: `in the last two weeks`, 「最近三个月」.

Statements have no such dates: what was so for two years may be so for longer."""

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
    "day": 1.0, "week": 7.0, "fortnight": 14.0, "month": 30.4, "year": 365.25,
    "天": 1.0, "日": 1.0, "周": 7.0, "星期": 7.0, "礼拜": 7.0, "月": 30.4, "年": 365.25,
}  # fmt: skip


def find_recent_periods(query: str, now: datetime, limit: int) -> list[Span]:
    """At most `limit` such periods of a query."""
    return list(islice(_iterate_periods(query, now), limit))


def _iterate_periods(query: str, now: datetime) -> Iterator[Span]:
    for pattern in (*_ENGLISH, _CHINESE):
        for match in pattern.finditer(query):
            days = _parse_count(match["count"], chinese=pattern is _CHINESE) * _DAYS[match["unit"].casefold()]
            try:
                start = now - timedelta(days=round(days))
            except OverflowError:
                continue
            if start < now:
                yield Span(match.start(), match.end(), ((start, now),))


def _parse_count(phrase: str | None, *, chinese: bool) -> float:
    if not phrase:
        return 1
    if phrase == _HALF:
        return 0.5
    return parse_number(phrase) if chinese else parse_count(phrase)[0]
