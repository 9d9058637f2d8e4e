"""Periods from one date to another in a Chinese query."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.dates.chinese import NUMBER, parse_number
from muniment.memory.rules.dates.mentions import Mention
from muniment.memory.rules.dates.spans import Span, join_dates
from muniment.memory.rules.language.calendar import DatePeriod
from muniment.memory.rules.language.lazy_regex import lazy_compile

_CJK = lazy_compile(r"[\u3400-\u9fff]")
_JOINT = lazy_compile(r"(?<=[\d一二三四五六七八九十月日号年天季节初底末旬])\s?(?:直?到|至|[-–—~～])\s?(?=\S)")
_NOW = lazy_compile("现在|如今|目前|今天")
_NUMBER = lazy_compile(rf"(?:(?:19|20)\d\d|(?<!\d){NUMBER})$")
_DAY = lazy_compile(rf"(?P<day>{NUMBER})[日号]")
_WEEKDAY = lazy_compile("(?:周|星期|礼拜)[一二三四五六日天]")
_WINDOW = 20  # characters on either side that are read
_JOINTS_PER_SPAN = 4  # for each span; most joints do not join dates


def find_chinese_spans(query: str, now: datetime, years: Sequence[int], limit: int) -> list[Span]:
    """At most `limit` spans of a query. A span without a year has an interval for each of the `years`."""
    spans: list[Span] = []
    if not _CJK.search(query):
        return spans
    for joint in islice(_JOINT.finditer(query), _JOINTS_PER_SPAN * limit):
        if len(spans) < limit and all(joint.start() >= span.end for span in spans):
            spans += _build_span(query, joint, now, years)
    return spans


def _build_span(query: str, joint: re.Match[str], now: datetime, years: Sequence[int]) -> Iterator[Span]:
    at = max(0, joint.start() - _WINDOW)
    before, behind = query[at : joint.start()], query[joint.end() : joint.end() + _WINDOW]
    begin = next(
        (mention for mention in mentions.find_mentions(before, now, question=query) if mention.end == len(before)), None
    )
    last = _complete_last(query, behind, begin, now)
    if last and not begin:
        begin = _complete_first(before, last)
    if begin and last:
        yield from join_dates(at + begin.start, joint.end() + last.end, begin, last, now, years)


def _complete_last(query: str, behind: str, begin: Mention | None, now: datetime) -> Mention | None:
    """The second date, completed by the first one. None where there is no date."""
    a_day = begin if begin and begin.when.grain == "day" and not begin.when.holiday else None
    if a_day and (day := _DAY.match(behind)):
        try:
            return replace(
                a_day,
                start=0,
                end=day.end(),
                when=DatePeriod(a_day.when.start.replace(day=parse_number(day["day"])), "day", chinese=True),
            )
        except ValueError:
            return None
    if today := _NOW.match(behind):
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


def _complete_first(before: str, last: Mention) -> Mention | None:
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
