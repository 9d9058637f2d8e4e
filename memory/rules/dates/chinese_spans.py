"""Periods from one date to another, as a Chinese query names them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from muniment.memory.rules.dates import mentions as dates
from muniment.memory.rules.dates.chinese import NUMBER, number
from muniment.memory.rules.dates.mentions import Mention
from muniment.memory.rules.dates.spans import Span, joined
from muniment.memory.rules.language.calendar import When
from muniment.memory.rules.language.lazy_regex import late

_CJK = late(r"[\u3400-\u9fff]")
_JOINT = late(r"(?<=[\d一二三四五六七八九十月日号年天季节初底末旬])\s?(?:直?到|至|[-–—~～])\s?(?=\S)")
_NOW = late("现在|如今|目前|今天")
_NUMBER = late(rf"(?:(?:19|20)\d\d|(?<!\d){NUMBER})$")
_DAY = late(rf"(?P<day>{NUMBER})[日号]")
_WEEKDAY = late("(?:周|星期|礼拜)[一二三四五六日天]")
_LENGTH = 20  # characters that are looked at on either side
_LOOKS = 4  # at so many joints for each span that is wanted: most of what is joined is no date


def read(query: str, now: datetime, years: Sequence[int], most: int) -> list[Span]:
    """The first spans of a query, at most so many; what has no year is that of each of the `years`."""
    out: list[Span] = []
    if not _CJK.search(query):
        return out
    for joint in islice(_JOINT.finditer(query), _LOOKS * most):
        if len(out) < most and all(joint.start() >= span.end for span in out):
            out += _span(query, joint, now, years)
    return out


def _span(query: str, joint: re.Match[str], now: datetime, years: Sequence[int]) -> Iterator[Span]:
    at = max(0, joint.start() - _LENGTH)
    before, behind = query[at : joint.start()], query[joint.end() : joint.end() + _LENGTH]
    begin = next((one for one in dates.mentions(before, now, asked=query) if one.end == len(before)), None)
    last = _last(query, behind, begin, now)
    if last and not begin:
        begin = _first(before, last)
    if begin and last:
        yield from joined(at + begin.start, joint.end() + last.end, begin, last, now, years)


def _last(query: str, behind: str, begin: Mention | None, now: datetime) -> Mention | None:
    """The date that the second one is, as the first one completes it."""
    a_day = begin if begin and begin.when.grain == "day" and not begin.when.feast else None
    if a_day and (day := _DAY.match(behind)):
        try:
            return replace(
                a_day,
                start=0,
                end=day.end(),
                when=When(a_day.when.start.replace(day=number(day["day"])), "day", chinese=True),
            )
        except ValueError:
            return None
    if today := _NOW.match(behind):
        return replace(dates.mentions("今天", now)[0], end=today.end())
    at = a_day.when.start if a_day and _WEEKDAY.match(behind) else now
    return next((one for one in dates.mentions(behind, at, asked=behind if a_day else query) if one.start == 0), None)


def _first(before: str, last: Mention) -> Mention | None:
    """`三到五月`, `2019到2021年`: the number is one of what the second date is."""
    found = _NUMBER.search(before)
    if not found or last.when.part or last.when.grain not in ("month", "year"):
        return None
    said, start = number(found.group()), last.when.start
    try:
        start = start.replace(year=said) if last.when.grain == "year" else start.replace(month=said)
    except ValueError:
        return None
    return replace(last, start=found.start(), end=found.end(), when=replace(last.when, start=start))
