"""Periods in a query, in English and Chinese: from one date to another, and up to now."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.dates.chinese import NUMBER, parse_number
from muniment.memory.rules.dates.english_periods import COUNT, parse_count
from muniment.memory.rules.dates.mentions import Mention
from muniment.memory.rules.language import calendar, tokens
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
    if not tokens.find_date_signs(query):
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


# In Chinese.

_CJK = lazy_compile(r"[\u3400-\u9fff]")
_JOINT_ZH = lazy_compile(r"(?<=[\d一二三四五六七八九十月日号年天季节初底末旬])\s?(?:直?到|至|[-–—~～])\s?(?=\S)")
_NOW_ZH = lazy_compile("现在|如今|目前|今天")
_NUMBER = lazy_compile(rf"(?:(?:19|20)\d\d|(?<!\d){NUMBER})$")
_DAY_ZH = lazy_compile(rf"(?P<day>{NUMBER})[日号]")
_WEEKDAY = lazy_compile("(?:周|星期|礼拜)[一二三四五六日天]")
_WINDOW = 20  # characters on either side that are read
_JOINTS_PER_SPAN = 4  # for each span; most joints do not join dates


def find_chinese_spans(query: str, now: datetime, years: Sequence[int], limit: int) -> list[Span]:
    """At most `limit` spans of a query. A span without a year has an interval for each of the `years`."""
    spans: list[Span] = []
    if not _CJK.search(query):
        return spans
    for joint in islice(_JOINT_ZH.finditer(query), _JOINTS_PER_SPAN * limit):
        if len(spans) < limit and all(joint.start() >= span.end for span in spans):
            spans += _build_span_zh(query, joint, now, years)
    return spans


def _build_span_zh(query: str, joint: re.Match[str], now: datetime, years: Sequence[int]) -> Iterator[Span]:
    at = max(0, joint.start() - _WINDOW)
    before, behind = query[at : joint.start()], query[joint.end() : joint.end() + _WINDOW]
    begin = next(
        (mention for mention in mentions.find_mentions(before, now, question=query) if mention.end == len(before)), None
    )
    last = _complete_last(query, behind, begin, now)
    if last and not begin:
        begin = _complete_first_zh(before, last)
    if begin and last:
        yield from join_dates(at + begin.start, joint.end() + last.end, begin, last, now, years)


def _complete_last(query: str, behind: str, begin: Mention | None, now: datetime) -> Mention | None:
    """The second date, completed by the first one. None where there is no date."""
    a_day = begin if begin and begin.when.grain == "day" and not begin.when.holiday else None
    if a_day and (day := _DAY_ZH.match(behind)):
        try:
            return replace(
                a_day,
                start=0,
                end=day.end(),
                when=DatePeriod(a_day.when.start.replace(day=parse_number(day["day"])), "day", chinese=True),
            )
        except ValueError:
            return None
    if today := _NOW_ZH.match(behind):
        return replace(mentions.find_mentions("今天", now)[0], end=today.end())
    at = a_day.when.start if a_day and _WEEKDAY.match(behind) else now
    return next(
        (
            mention
            for mention in mentions.find_mentions(behind, at, question=behind if a_day else query)
            if mention.start == 0
        ),
        None,
    )


def _complete_first_zh(before: str, last: Mention) -> Mention | None:
    """The first date as a number in the unit of the second: `三到五月`, `2019到2021年`. None where there is none."""
    match = _NUMBER.search(before)
    if not match or last.when.part or last.when.grain not in ("month", "year"):
        return None
    number, start = parse_number(match.group()), last.when.start
    try:
        start = start.replace(year=number) if last.when.grain == "year" else start.replace(month=number)
    except ValueError:
        return None
    return replace(last, start=match.start(), end=match.end(), when=replace(last.when, start=start))


# Periods that end now: `in the last two weeks`, 「最近三个月」. Statements have no such dates: what was so for two
# years may be so for longer.

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
