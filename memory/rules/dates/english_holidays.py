"""When the feast of a match is: of a year that is said, of one that is meant, or so many of them ago."""

from __future__ import annotations

import re
from datetime import datetime

from muniment.memory.rules.dates.english_counts import count
from muniment.memory.rules.language import calendar
from muniment.memory.rules.language.calendar import When


def feast(found: re.Match[str], at: datetime, number: int) -> When:
    name, part = re.sub(r"\s+", " ", found["feast"]), (found["part"] or "").casefold()
    return When(calendar.feast(at, name, number), "day", part=part, feast=name)


def feast_year(found: re.Match[str], at: datetime, lean: int) -> When:
    return feast(found, at, int(found["year"]))


def feast_of_year(found: re.Match[str], at: datetime, lean: int) -> When:
    return feast(found, at, at.year + {"last": -1, "this": 0, "next": 1}[found["side"].casefold()])


def turned_feast(found: re.Match[str], at: datetime, lean: int) -> When:
    """As with months, the one of this month is not the last."""
    side = re.sub(r"\s+", " ", found["side"].casefold())
    if side == "this":
        return bare_feast(found, at, lean)
    here, today = feast(found, at, at.year).start, calendar.midnight(at)
    if side in ("last", "before last"):
        return feast(found, at, at.year - (here.month >= at.month) - (side == "before last"))
    return feast(found, at, at.year - (here >= today) if "past" in side else at.year + (here <= today))


def bare_feast(found: re.Match[str], at: datetime, lean: int) -> When:
    near = feast(found, at, at.year).start
    return feast(found, at, calendar.nearest_year(at, near.month, lean, near.day))


def feasts_ago(found: re.Match[str], at: datetime, lean: int) -> When:
    here = feast(found, at, at.year).start
    return feast(found, at, at.year - (here.month >= at.month) - count(found["count"])[0] + 1)
