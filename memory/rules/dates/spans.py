"""Periods from one date to another in an English query."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

from muniment.memory.rules.dates import english, mentions
from muniment.memory.rules.dates.mentions import Mention
from muniment.memory.rules.language import calendar
from muniment.memory.rules.language.calendar import DatePeriod
from muniment.memory.rules.language.lazy_regex import lazy_compile

Interval = tuple[datetime, datetime]
_MONTH = "(?:" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in calendar.MONTHS) + r")\b\.?"
_DAY = r"(?:the\s+)?(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_DASH = r"\s*[-–—]\s*"
_OPEN = lazy_compile(r"\b(?P<open>between|from)\s+", re.IGNORECASE)
_JOINT = lazy_compile(rf"\s+(?P<word>and|to|until|till|through)\s+|{_DASH}", re.IGNORECASE)
# Spans without a word before them: between two months, before or after the day of a month, and between two years.
_BARE = lazy_compile(
    rf"\b(?P<month>{_MONTH}(?:,?\s+(?:19|20)\d\d)?)(?:\s+(?:to|until|till|through)\s+|{_DASH})(?={_MONTH})"
    rf"|(?<![\w/.:-]){_DAY}{_DASH}(?=[0-3]?\d(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH})"
    rf"|\b(?P<first>{_MONTH}\s+(?:the\s+)?[0-3]?\d(?:st|nd|rd|th)?)(?:\s+(?:to|until|till|through)\s+"
    rf"|{_DASH})(?=(?:the\s+)?[0-3]?\d(?!\d))"
    rf"|(?<![\w/.:-])(?P<year>(?:19|20)\d\d)(?:\s+(?:to|until|till|through)\s+|{_DASH})(?=(?:19|20)\d\d\b(?![-/.]\d))",
    re.IGNORECASE,
)
# Every span has one of these. A plain string is found faster than a pattern.
_OPEN_WORDS, _JOINT_WORDS = ("between", "from"), ("-", "–", "—", " to ", " until ", " till ", " through ")
_SIGN = lazy_compile(r"(?:19|20)\d\d|[adfjmnos](?<!\w\w)(?:an|eb|a[ry]|pr|u[nlg]|ep|ct|ov|ec)")
_A_DAY = lazy_compile(_DAY, re.IGNORECASE)
_LAST_DAY = lazy_compile(
    _DAY + rf"(?!\d|[:/]\d|\s*(?:[ap]\.?m\b|o'clock|%|{_MONTH}))(?:,?\s+(?P<year>(?:19|20)\d\d)\b)?", re.IGNORECASE
)
_NOW = lazy_compile(r"^now\b", re.IGNORECASE)
_BEFORE = "since "  # after it every date is recognised
_WINDOWS = (40, 60)  # characters that are read for the first date and for the second
_WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Span:
    """Two dates that make one period: their place in the text, and the intervals that they may mean."""

    start: int
    end: int
    intervals: tuple[Interval, ...]


def find_english_spans(query: str, now: datetime, years: Sequence[int], limit: int) -> list[Span]:
    """At most `limit` spans of a query. A span without a year has an interval for each of the `years`."""
    spans: list[Span] = []
    if not english.find_signs(query):
        return spans
    for start, first, second in islice(_find_pairs(query), limit):
        if all(start >= span.end or second < span.start for span in spans):
            spans += _build_span(query, start, first, second, now, years)
    return spans


def _find_pairs(query: str) -> Iterator[tuple[int, str, int]]:
    """The places that may have a span: its start, the words of the first date, the start of the second one."""
    folded = query.casefold()
    for opened in _OPEN.finditer(query) if any(map(folded.__contains__, _OPEN_WORDS)) else ():
        for joint in _JOINT.finditer(query, opened.end(), opened.end() + _WINDOWS[0]):
            if opened["open"].casefold() == "between" or joint["word"] is None or joint["word"].casefold() != "and":
                yield opened.start(), query[opened.end() : joint.start()], joint.end()
    for pair in _BARE.finditer(query) if any(map(folded.__contains__, _JOINT_WORDS)) and _SIGN.search(folded) else ():
        yield pair.start(), pair["month"] or pair["day"] or pair["first"] or pair["year"], pair.end()


def _build_span(query: str, start: int, first: str, second: int, now: datetime, years: Sequence[int]) -> Iterator[Span]:
    tail = query[second : second + _WINDOWS[1]]
    phrase = _NOW.sub("today", tail)
    end = next(iter(mentions.find_mentions(_BEFORE + phrase, now, question=query)), None)
    if end is None or end.start > len(_BEFORE):
        yield from _build_day_span(query, start, first, second, now, years)
    elif begin := _complete_first(query, first.strip(), end, now):
        yield from join_dates(start, second + end.end - len(_BEFORE) + len(tail) - len(phrase), begin, end, now, years)


def _build_day_span(
    query: str, start: int, first: str, second: int, now: datetime, years: Sequence[int]
) -> Iterator[Span]:
    """The span of `May 3 to 9`. The second day is in the month of the first, and a year after it is that of both."""
    last = _LAST_DAY.match(query, second, second + _WINDOWS[1])
    begin = next(iter(mentions.find_mentions(_BEFORE + first.strip(), now, question=query)), None)
    if (
        not last
        or not begin
        or begin.end < len(_BEFORE + first.strip())
        or begin.when.grain != "day"
        or begin.when.holiday
    ):
        return
    try:
        day = begin.when.start.replace(day=int(last["day"]))
        begin = replace(begin, partial=begin.partial and not last["year"])
        if last["year"]:
            day = day.replace(year=int(last["year"]))
            begin = replace(begin, when=begin.when.move_to_year(day.year))
    except ValueError:
        return
    yield from join_dates(start, last.end(), begin, replace(begin, when=DatePeriod(day, "day")), now, years)


def join_dates(
    start: int, end: int, begin: Mention, last: Mention, now: datetime, years: Sequence[int]
) -> Iterator[Span]:
    """The span of two dates at that place, if they make one."""
    ends = years if last.partial and begin.partial else (now.year,)
    if intervals := tuple(period for year in ends for period in _build_interval(begin, last, year, now)):
        yield Span(start, end, intervals)


def _complete_first(query: str, phrase: str, end: Mention, now: datetime) -> Mention | None:
    """The first date, completed by the second one. None where the words are no date."""
    if (day := _A_DAY.fullmatch(phrase)) and end.when.grain == "day" and not end.when.holiday:
        try:
            month = calendar.add_months(end.when.start, -(int(day["day"]) > end.when.start.day))
            return replace(end, when=DatePeriod(month.replace(day=int(day["day"])), "day"))
        except ValueError:
            return None
    dates = mentions.find_mentions(_BEFORE + phrase, now, question=query)
    whole = dates and dates[0].start <= len(_BEFORE) and dates[0].end == len(_BEFORE + phrase)
    return dates[0] if whole else None


def _build_interval(begin: Mention, end: Mention, year: int, now: datetime) -> Iterator[Interval]:
    """From the start of the first to the end of the second date.

    A date without a year is the nearest one to the other date. If neither has a year, the interval ends in `year`."""
    first, last = begin.when, end.when
    try:
        if end.partial:
            last = last.move_to_year(year if begin.partial else first.start.year)
            last = last.move_to_year(last.start.year + 1) if not begin.partial and last.start < first.start else last
        if begin.partial:
            first = first.move_to_year(last.start.year)
            first = first.move_to_year(first.start.year - 1) if first.start > last.start else first
        if begin.relative and end.relative and timedelta(0) < first.start - last.start < _WEEK:  # two weekdays
            ahead = last.start > now
            first = first if ahead else replace(first, start=first.start - _WEEK)
            last = replace(last, start=last.start + _WEEK) if ahead else last
        if first.start <= last.start:
            yield first.start, max(first.end, last.end)
    except (ValueError, OverflowError):  # 29 February, the end of the calendar
        return
