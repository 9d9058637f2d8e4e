"""Periods from one date to another, as a Chinese query names them."""

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
_WINDOW = 20  # characters that are looked at on either side
_JOINTS_PER_SPAN = 4  # at so many joints for each span that is wanted: most of what is joined is no date


def find_chinese_spans(query: str, now: datetime, years: Sequence[int], limit: int) -> list[Span]:
    """The first spans of a query, at most so many; what has no year is that of each of the `years`."""
    out: list[Span] = []
    if not _CJK.search(query):
        return out
    for joint in islice(_JOINT.finditer(query), _JOINTS_PER_SPAN * limit):
        if len(out) < limit and all(joint.start() >= span.end for span in out):
            out += _build_span(query, joint, now, years)
    return out


def _build_span(query: str, joint: re.Match[str], now: datetime, years: Sequence[int]) -> Iterator[Span]:
    at = max(0, joint.start() - _WINDOW)
    before, behind = query[at : joint.start()], query[joint.end() : joint.end() + _WINDOW]
    begin = next((one for one in mentions.find_mentions(before, now, question=query) if one.end == len(before)), None)
    last = _complete_last(query, behind, begin, now)
    if last and not begin:
        begin = _complete_first(before, last)
    if begin and last:
        yield from join_dates(at + begin.start, joint.end() + last.end, begin, last, now, years)


def _complete_last(query: str, behind: str, begin: Mention | None, now: datetime) -> Mention | None:
    """The date that the second one is, as the first one completes it."""
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
        (one for one in mentions.find_mentions(behind, at, question=behind if a_day else query) if one.start == 0), None
    )


def _complete_first(before: str, last: Mention) -> Mention | None:
    """`三到五月`, `2019到2021年`: the number is one of what the second date is."""
    found = _NUMBER.search(before)
    if not found or last.when.part or last.when.grain not in ("month", "year"):
        return None
    said, start = parse_number(found.group()), last.when.start
    try:
        start = start.replace(year=said) if last.when.grain == "year" else start.replace(month=said)
    except ValueError:
        return None
    return replace(last, start=found.start(), end=found.end(), when=replace(last.when, start=start))
