"""When the feast of a match is: of a year that is said, of one that is meant, or so many of them ago."""

from __future__ import annotations

import re
from datetime import datetime

from muniment.memory.rules.dates.english_counts import parse_count
from muniment.memory.rules.language import calendar
from muniment.memory.rules.language.calendar import DatePeriod


def resolve_holiday(match: re.Match[str], at: datetime, year: int) -> DatePeriod:
    name, part = re.sub(r"\s+", " ", match["feast"]), (match["part"] or "").casefold()
    return DatePeriod(calendar.get_holiday(at, name, year), "day", part=part, holiday=name)


def resolve_holiday_year(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    return resolve_holiday(match, at, int(match["year"]))


def resolve_holiday_of_year(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    return resolve_holiday(match, at, at.year + {"last": -1, "this": 0, "next": 1}[match["side"].casefold()])


def resolve_relative_holiday(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """As with months, the one of this month is not the last."""
    side = re.sub(r"\s+", " ", match["side"].casefold())
    if side == "this":
        return resolve_bare_holiday(match, at, direction)
    here, today = resolve_holiday(match, at, at.year).start, calendar.get_midnight(at)
    if side in ("last", "before last"):
        return resolve_holiday(match, at, at.year - (here.month >= at.month) - (side == "before last"))
    return resolve_holiday(match, at, at.year - (here >= today) if "past" in side else at.year + (here <= today))


def resolve_bare_holiday(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    near = resolve_holiday(match, at, at.year).start
    return resolve_holiday(match, at, calendar.find_nearest_year(at, near.month, direction, near.day))


def resolve_holidays_ago(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    here = resolve_holiday(match, at, at.year).start
    return resolve_holiday(match, at, at.year - (here.month >= at.month) - parse_count(match["count"])[0] + 1)
