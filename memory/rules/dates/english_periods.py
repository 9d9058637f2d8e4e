"""The periods that English date matches mean, relative to the time of the message.

Every function takes a match, the time, and the direction of the tense: 1 for the future and -1 for the past. It raises
ValueError or OverflowError for a date that does not exist."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from muniment.memory.rules.dates.english_counts import parse_count, parse_day, parse_part
from muniment.memory.rules.language import calendar
from muniment.memory.rules.language.calendar import MONTHS, SEASONS, DatePeriod

_MONTH_NAMES = {name.casefold(): index for index, name in enumerate(MONTHS, 1)}
_MONTH_NAMES |= {name[:3].casefold(): index for name, index in zip(MONTHS, range(1, 13), strict=True)} | {"sept": 9}
WEEKDAYS = tuple(name.casefold() for name in calendar.WEEKDAYS)
_QUARTERS = ("first", "second", "third", "fourth")
_MONTHS_OF_A_YEAR = 12


def _parse_month(match: re.Match[str]) -> int:
    return _MONTH_NAMES[match["month"].rstrip(".").casefold()]


def resolve_near(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """The day or part of a day around `at`: yesterday, tonight."""
    words = re.sub(r"\s+", " ", match["near"].casefold())
    shift = {
        "the day before yesterday": -2, "the day after tomorrow": 2, "yesterday": -1, "last night": -1, "tomorrow": 1,
    }.get(words, 0)  # fmt: skip
    part = (match["part"] or words.removeprefix("this ") * words.startswith("this ") or "").casefold()
    part = "night" if words in ("tonight", "last night") else part
    return DatePeriod(calendar.add_days(at, shift), "day", part=part)


def resolve_relative_weekday(match: re.Match[str], at: datetime, lean: int) -> DatePeriod:
    """The weekday that is last, next, of this week, or nearest in the direction of the tense."""
    index = WEEKDAYS.index(match["weekday"].casefold())
    side = re.sub(r"\s+", " ", (match["side"] or "").casefold())
    part = (match["part"] or "").casefold()
    if side == "this":
        return DatePeriod(calendar.get_weekday(at, index, 0), "day", part=part)
    lean = {"last": -1, "past": -1, "this past": -1, "next": 1, "coming": 1, "this coming": 1}.get(side, lean)
    return DatePeriod(calendar.find_nearest_weekday(at, index, lean), "day", part=part)


def resolve_weekday_week(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """The weekday a week after the next one."""
    return DatePeriod(
        calendar.add_days(calendar.find_nearest_weekday(at, WEEKDAYS.index(match["weekday"].casefold()), 1), 7), "day"
    )


def resolve_relative_unit(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """The last, this or next week, weekend, month, year, quarter or season."""
    step = {"last": -1, "this past": -1, "next": 1, "this coming": 1, "before last": -2}.get(
        re.sub(r"\s+", " ", match["side"].casefold()), 0
    )
    unit = match["unit"].casefold()
    if unit == "week":
        return DatePeriod(calendar.get_weekday(at, 0, step), "week")
    if unit == "weekend":
        return DatePeriod(calendar.get_weekday(at, 5, step), "weekend")
    if unit == "month":
        return DatePeriod(calendar.add_months(at, step), "month")
    if unit == "year":
        return DatePeriod(calendar.get_year_start(at, at.year + step), "year")
    if unit == "quarter":
        return DatePeriod(calendar.add_months(at, 3 * step - (at.month - 1) % 3), "quarter")
    return DatePeriod(calendar.get_day(at, _compute_relative_year(at, SEASONS[unit], step), SEASONS[unit], 1), "season")


def _compute_relative_year(at: datetime, first: int, step: int) -> int:
    if step < 0:
        return at.year + step + 1 - (first + 2 >= at.month)
    return at.year + (step > 0 and first <= at.month)


def resolve_relative_month(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """That month of the last, this or next time."""
    month, side = _parse_month(match), match["side"].casefold()
    number = {"last": at.year - (month >= at.month), "next": at.year + (month <= at.month)}.get(side, at.year)
    return DatePeriod(calendar.get_day(at, number, month, 1), "month")


def resolve_shift(match: re.Match[str], at: datetime, direction: int) -> DatePeriod | None:
    """So many units before or after `at`. None for a length of time in the past."""
    if direction < 0 and match["forward"]:
        return None  # in the past `in two weeks` is a length of time
    many, word = parse_count(match["count"])
    many = many if match["forward"] or match["ahead"] else -many
    unit = match["unit"].casefold()
    if unit == "month":
        return DatePeriod(calendar.add_months(at, many), "month")
    if unit == "year":
        return DatePeriod(calendar.get_year_start(at, at.year + many), "year")
    length = {"week": 7, "fortnight": 14}.get(unit, 1)
    vague = length > 1 or (word.isalpha() and word in ("few", "several")) or " " in word
    return DatePeriod(calendar.add_days(at, many * length), "about" if vague else "day")


def resolve_iso(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """A day as `2026-05-12`."""
    return DatePeriod(calendar.get_day(at, int(match["year"]), int(match["month"]), int(match["day"])), "day")


def resolve_full(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """A day with month and year."""
    return DatePeriod(calendar.get_day(at, int(match["year"]), _parse_month(match), parse_day(match["day"])), "day")


def resolve_month_year(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """A month with a year."""
    return DatePeriod(calendar.get_day(at, int(match["year"]), _parse_month(match), 1), "month")


def resolve_month_part(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """A part of a month."""
    year = match.groupdict().get("year")
    first = resolve_month_year(match, at, direction) if year else resolve_bare_month(match, at, direction)
    return _narrow_period(match, first)


def _narrow_period(match: re.Match[str], period: DatePeriod) -> DatePeriod:
    which = parse_part(match["which"])
    start = (
        calendar.get_month_part(period.start, which)
        if period.grain == "month"
        else calendar.get_year_part(period.start, which)
    )
    return DatePeriod(start, period.grain, part=which)


def resolve_year_part(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """A part of a year."""
    return _narrow_period(match, resolve_year(match, at, direction))


def resolve_relative_part(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """A part of the last, this or next month or year."""
    return _narrow_period(match, resolve_relative_unit(match, at, direction))


def resolve_ordinal(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """The nearest such day of a month. Months without that day are skipped."""
    day = parse_day(match["day"])
    months = (calendar.add_months(at, direction * n) for n in range(4))
    days = (
        first + timedelta(days=day - 1) for first in months if (first + timedelta(days=day - 1)).month == first.month
    )
    here = calendar.get_midnight(at)
    return DatePeriod(next(start for start in days if (start >= here if direction > 0 else start <= here)), "day")


def resolve_seasons_ago(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """The season that many seasons ago."""
    first = SEASONS[match["unit"].casefold()]
    year = _compute_relative_year(at, first, -1) - parse_count(match["count"])[0] + 1
    return DatePeriod(calendar.get_day(at, year, first, 1), "season")


def resolve_year(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """A year."""
    return DatePeriod(calendar.get_year_start(at, int(match["year"])), "year")


def resolve_season_year(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """A season with a year."""
    return DatePeriod(calendar.get_day(at, int(match["year"]), SEASONS[match["unit"].casefold()], 1), "season")


def resolve_day_month(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """The nearest such day of a month."""
    month, day = _parse_month(match), parse_day(match["day"])
    return DatePeriod(calendar.get_day(at, calendar.find_nearest_year(at, month, direction, day), month, day), "day")


def resolve_bare_month(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """The nearest such month."""
    month = _parse_month(match)
    return DatePeriod(calendar.get_day(at, calendar.find_nearest_year(at, month, direction), month, 1), "month")


def resolve_bare_season(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """The nearest such season."""
    first = SEASONS[match["unit"].casefold()]
    number = calendar.find_nearest_year(at, first, direction)
    runs = direction > 0 and first <= at.month <= first + 2
    return DatePeriod(calendar.get_day(at, at.year if runs else number, first, 1), "season")


def resolve_numeric(match: re.Match[str], at: datetime, direction: int) -> DatePeriod | None:
    """A day in figures. None where day and month may be swapped."""
    one, other = int(match["day"]), int(match["other"])
    if match["mark"] == "/" and one <= _MONTHS_OF_A_YEAR and other <= _MONTHS_OF_A_YEAR and one != other:
        return None
    if match["mark"] == "/" and other > _MONTHS_OF_A_YEAR:
        one, other = other, one
    return DatePeriod(calendar.get_day(at, int(match["year"]), other, one), "day")


def resolve_quarter(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """A quarter with a year."""
    name = match["quarter"].casefold()
    number = _QUARTERS.index(name) + 1 if name in _QUARTERS else int(name.strip("qstndrh"))
    return DatePeriod(calendar.get_day(at, int(match["year"]), 3 * number - 2, 1), "quarter")


def resolve_bare_quarter(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """The nearest such quarter."""
    first = 3 * int(match["quarter"][1]) - 2
    return DatePeriod(calendar.get_day(at, calendar.find_nearest_year(at, first, direction), first, 1), "quarter")
