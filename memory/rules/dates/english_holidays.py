"""The day of the feast of a match, by its year or relative to `at`."""

from __future__ import annotations

import re
from datetime import datetime

from muniment.memory.rules.dates.english_counts import parse_count
from muniment.memory.rules.language import calendar
from muniment.memory.rules.language.calendar import DatePeriod


def resolve_holiday(match: re.Match[str], at: datetime, year: int) -> DatePeriod:
    """The feast in a year. Raises ValueError where its day is unknown."""
    name, part = re.sub(r"\s+", " ", match["feast"]), (match["part"] or "").casefold()
    return DatePeriod(calendar.get_holiday(at, name, year), "day", part=part, holiday=name)


def resolve_holiday_year(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """The feast in the year of the match."""
    return resolve_holiday(match, at, int(match["year"]))


def resolve_holiday_of_year(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """The feast of last, this or next year."""
    return resolve_holiday(match, at, at.year + {"last": -1, "this": 0, "next": 1}[match["side"].casefold()])


def resolve_relative_holiday(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """The last, next or past feast. As with months, a feast of this month is not the last one."""
    side = re.sub(r"\s+", " ", match["side"].casefold())
    if side == "this":
        return resolve_bare_holiday(match, at, direction)
    here, today = resolve_holiday(match, at, at.year).start, calendar.get_midnight(at)
    if side in ("last", "before last"):
        return resolve_holiday(match, at, at.year - (here.month >= at.month) - (side == "before last"))
    return resolve_holiday(match, at, at.year - (here >= today) if "past" in side else at.year + (here <= today))


def resolve_bare_holiday(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """The nearest feast in the direction of the tense."""
    near = resolve_holiday(match, at, at.year).start
    return resolve_holiday(match, at, calendar.find_nearest_year(at, near.month, direction, near.day))


def resolve_holidays_ago(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """The feast that many feasts ago."""
    here = resolve_holiday(match, at, at.year).start
    return resolve_holiday(match, at, at.year - (here.month >= at.month) - parse_count(match["count"])[0] + 1)
