"""The periods that English date matches mean, relative to the time of the message; counts, ordinals and parts in them.

Every resolver takes a match, the time, and the direction of the tense: 1 for the future and -1 for the past. It raises
ValueError or OverflowError for a date that does not exist."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from muniment.memory.rules.language import calendar
from muniment.memory.rules.language.calendar import MONTHS, ORDINALS, SEASONS, DatePeriod
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon

_NUMBERS = {phrase: int(count) for phrase, count in load_lexicon("numbers.en").get_index("counts", ",").items()}
COUNT = (
    r"(?P<count>\d{1,4}|an?\s+couple\s+of|a\s+few|couple\s+of|few|several|an?|one|two|three|four|five|six|seven"
    r"|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty)"
)
PART_OF = (
    r"(?P<which>(?:the\s+)?(?:very\s+)?(?:beginning|start|middle|end|(?:first|second)\s+half|(?:first|second|third"
    r"|fourth|last)\s+week)\s+of\s+|(?:early|mid|late)(?:\s+in)?[\s-]+)"
)


def parse_count(phrase: str) -> tuple[int, str]:
    """The number of a phrase, and the phrase in lower case with single spaces."""
    word = re.sub(r"\s+", " ", phrase.casefold())
    return (int(word) if word.isdigit() else _NUMBERS.get(word, 2)), word


def parse_day(phrase: str) -> int:
    """The day of a month for a figure or an ordinal."""
    word = re.sub(r"[\s-]", "", phrase.casefold())
    return ORDINALS[word] if word in ORDINALS else int(re.sub(r"\D", "", word))


def parse_part(phrase: str) -> str:
    """The part of a month or year in the spelling of the calendar."""
    words = phrase.casefold().replace("-", " ").split()
    if words[0] in ("early", "mid", "late"):
        return words[0]
    return "the " + " ".join(word for word in words if word not in ("the", "very"))


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


DECADE_PART = r"(?:(?P<part>early|mid|late)[\s-]+)?"
TENS = ("thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties")
_TEMPERATURE = lazy_compile(
    r"\b(?:temperatures?|degrees|fahrenheit|weather|forecast|humid|heatwave|percent)\b|[°%]", re.IGNORECASE
)
_REACH = 200  # characters on either side that may name heat
_YEARS_OF_A_CENTURY, _TWENTIES = 100, 2020


def resolve_decade(match: re.Match[str], at: datetime, direction: int) -> DatePeriod | None:
    """The decade of a match, or None for degrees. Two figures mean the twentieth century."""
    part, tens = (match["part"] or "").casefold(), match.groupdict().get("tens")
    if _is_temperature(match):
        return None
    number = 10 * TENS.index(tens.casefold()) + 30 if tens else int(match["decade"])
    return DatePeriod(
        calendar.get_decade_start(at, number if number > _YEARS_OF_A_CENTURY else 1900 + number, part),
        "decade",
        part=part,
    )


def resolve_twenties(match: re.Match[str], at: datetime, direction: int) -> DatePeriod | None:
    """The twenties of this century. None for degrees, and in a text about the past, which may mean the last century."""
    if direction < 0 or at.year < _TWENTIES or _is_temperature(match):
        return None
    part = (match["part"] or "").casefold()
    return DatePeriod(calendar.get_decade_start(at, _TWENTIES, part), "decade", part=part)


def _is_temperature(match: re.Match[str]) -> bool:
    """Whether the words around a match are about heat."""
    return _TEMPERATURE.search(match.string, max(0, match.start() - _REACH), match.end() + _REACH) is not None


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
