"""English date mentions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache, lru_cache
from itertools import islice

from muniment.memory.rules.dates import english_decades, english_holidays, english_tense
from muniment.memory.rules.dates.english_counts import COUNT, ORDINAL, PART_OF, parse_count, parse_day, parse_part
from muniment.memory.rules.language import calendar, holidays
from muniment.memory.rules.language.calendar import MONTHS, SEASONS, DatePeriod
from muniment.memory.rules.language.lazy_regex import lazy_compile

DateMatch = tuple[int, int, DatePeriod, str, bool, bool]
Handler = Callable[[re.Match[str], datetime, int], DatePeriod | None]

_MONTH_NAMES = {name.casefold(): index for index, name in enumerate(MONTHS, 1)}
_MONTH_NAMES |= {name[:3].casefold(): index for name, index in zip(MONTHS, range(1, 13), strict=True)} | {"sept": 9}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_MONTH = (
    r"(?P<month>january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)\b\.?)"
)
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_WEEKDAY = r"(?P<weekday>" + "|".join(_WEEKDAYS) + r")"
_PART = r"(?:\s+(?P<part>morning|afternoon|evening|night))?"
_UNIT = r"(?P<unit>day|week|fortnight|month|year)s?"
_SEASON = r"(?P<unit>spring|summer|autumn|fall|winter)"
_HOLIDAY = (
    r"(?<!orthodox )(?<!jewish )(?<!persian )(?<!islamic )(?<!chinese )(?<!lunar )(?P<feast>"
    + holidays.ENGLISH_NAMES
    + ")"
)
_BEFORE = r"(?<![\w/.-])(?:(?P<prep>on|in|at|by|since|until|till|from|for|before|after|during|of|around|about|to|starting|through)\s+)?"
_ANY_PREP = (
    r"(?<![\w/.-])(?P<prep>in|since|until|till|by|from|for|before|after|during|of|around|about|to|through|starting)\s+"
)
_END = r"(?![\w-])"
_NOT_HABITUAL = r"(?<!every )(?<!each )(?<!most )"
_NOT_HOLIDAY = r"(?<!easter )(?<!(?-i:Good ))"
_NOT_AMOUNT = r"(?!,?\d|\.\d|\s*(?:%|\$|€|k\b|km|m\b|meters|metres|miles|people|dollars|euros|pounds|steps|words|times|calories|users|hours|days|kg|lines))"
# May, March and short names are also other words; there the capital decides, or what stands beside it.
_CAPITAL_ONLY = frozenset({"may", "march", "mar", "jan", "dec", "sep"})
_BEFORE_MONTHS = frozenset({"in", "since", "until", "till"})

# Every pattern below needs its own of these; most statements have none, and are not searched by all of them.
_SIGNS = {
    "year": lazy_compile("19|20"),
    # Its first letter first, which is found fast.
    "month": lazy_compile(
        r"[adfjmnos](?<!\w\w)(?:(?<=j)(?:anuary|une|uly|(?:an|un|ul)\b)|(?<=f)eb(?:ruary|\b)|(?<=m)(?:arch|ay|ar\b)|(?<=a)(?:pril|ugust|(?:pr|ug)\b)"
        r"|(?<=s)ep(?:tember|t?\b)|(?<=o)ct(?:ober|\b)|(?<=n)ov(?:ember|\b)|(?<=d)ec(?:ember|\b))"
    ),
    "word": lazy_compile(
        "day|night|tomorrow|morning|afternoon|evening|week|month|year|spring|summer|autumn|fall|winter|quarter"
    ),
}
# Plain strings are found faster than patterns: one of these is in what has a name, or is said of a decade.
_SIGN_NAMES = ("mas", "boxing", "valentine", "patrick", "paddy", "friday", "easter", "independence", "fourth", "hallow", "thanksg",
          "new", "ties", "0", "q1", "q2", "q3", "q4", " the ")  # fmt: skip
_SIGN_NAME = lazy_compile(
    r"[tx]mas|boxing|valentine|patrick|paddy|good\s+fri|easter|independence|fourth|hallow|thanksg|new\s+year|0['’]?s\b|(?:[efhnx]|[oi]r)ties|\bq[1-4]\b"
    rf"|\b(?:on|by|since|until|till|from|between|before|after|to|and)\s+the\s+(?:[0-3]?\d(?:st|nd|rd|th)|{ORDINAL})\b"
)
_FURTHER_SIGNS = {  # of what has the first sign
    "year": {"numeric": lazy_compile(r"\d[/.]\d"), "quarter": lazy_compile(r"quarter|q[1-4]")},
    "word": {
        "season": lazy_compile("spring|summer|autumn|fall|winter"),
        "before last": lazy_compile(r"before\s+last"),
        "week": lazy_compile(r"day\s+week"),
        "turned quarter": lazy_compile(r"(?:last|this|next)\s+quarter"),
    },
}


def _parse_month(match: re.Match[str]) -> int:
    return _MONTH_NAMES[match["month"].rstrip(".").casefold()]


def _resolve_near(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    words = re.sub(r"\s+", " ", match["near"].casefold())
    shift = {
        "the day before yesterday": -2, "the day after tomorrow": 2, "yesterday": -1, "last night": -1, "tomorrow": 1,
    }.get(words, 0)  # fmt: skip
    part = (match["part"] or words.removeprefix("this ") * words.startswith("this ") or "").casefold()
    part = "night" if words in ("tonight", "last night") else part
    return DatePeriod(calendar.add_days(at, shift), "day", part=part)


def _resolve_relative_weekday(match: re.Match[str], at: datetime, lean: int) -> DatePeriod:
    index = _WEEKDAYS.index(match["weekday"].casefold())
    side = re.sub(r"\s+", " ", (match["side"] or "").casefold())
    part = (match["part"] or "").casefold()
    if side == "this":
        return DatePeriod(calendar.get_weekday(at, index, 0), "day", part=part)
    lean = {"last": -1, "past": -1, "this past": -1, "next": 1, "coming": 1, "this coming": 1}.get(side, lean)
    return DatePeriod(calendar.find_nearest_weekday(at, index, lean), "day", part=part)


def _resolve_weekday_week(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    return DatePeriod(
        calendar.add_days(calendar.find_nearest_weekday(at, _WEEKDAYS.index(match["weekday"].casefold()), 1), 7), "day"
    )


def _resolve_relative_unit(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
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
    return DatePeriod(
        calendar.get_season_start(at, SEASONS[unit], _compute_relative_year(at, SEASONS[unit], step)), "season"
    )


def _compute_relative_year(at: datetime, first: int, step: int) -> int:
    if step < 0:
        return at.year + step + 1 - (first + 2 >= at.month)
    return at.year + (step > 0 and first <= at.month)


def _resolve_relative_month(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    month, side = _parse_month(match), match["side"].casefold()
    number = {"last": at.year - (month >= at.month), "next": at.year + (month <= at.month)}.get(side, at.year)
    return DatePeriod(calendar.get_day(at, number, month, 1), "month")


def _resolve_shift(match: re.Match[str], at: datetime, direction: int) -> DatePeriod | None:
    if direction < 0 and match["forward"]:
        return None  # "in two weeks" of the past is how long it took
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


def _resolve_iso(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    return DatePeriod(calendar.get_day(at, int(match["year"]), int(match["month"]), int(match["day"])), "day")


def _resolve_full(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    return DatePeriod(calendar.get_day(at, int(match["year"]), _parse_month(match), parse_day(match["day"])), "day")


def _resolve_month_year(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    return DatePeriod(calendar.get_day(at, int(match["year"]), _parse_month(match), 1), "month")


def _resolve_month_part(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    year = match.groupdict().get("year")
    first = _resolve_month_year(match, at, direction) if year else _resolve_bare_month(match, at, direction)
    return _narrow_period(match, first)


def _narrow_period(match: re.Match[str], period: DatePeriod) -> DatePeriod:
    which = parse_part(match["which"])
    start = (
        calendar.get_month_part(period.start, which)
        if period.grain == "month"
        else calendar.get_year_part(period.start, which)
    )
    return DatePeriod(start, period.grain, part=which)


def _resolve_year_part(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    return _narrow_period(match, _resolve_year(match, at, direction))


def _resolve_relative_part(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    return _narrow_period(match, _resolve_relative_unit(match, at, direction))


def _resolve_ordinal(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    """The nearest such day of a month; of those that have no such day, the one after or before."""
    day = parse_day(match["day"])
    months = (calendar.add_months(at, direction * n) for n in range(4))
    days = (
        first + timedelta(days=day - 1) for first in months if (first + timedelta(days=day - 1)).month == first.month
    )
    here = calendar.get_midnight(at)
    return DatePeriod(next(one for one in days if (one >= here if direction > 0 else one <= here)), "day")


def _resolve_seasons_ago(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    first = SEASONS[match["unit"].casefold()]
    return DatePeriod(
        calendar.get_season_start(
            at, first, _compute_relative_year(at, first, -1) - parse_count(match["count"])[0] + 1
        ),
        "season",
    )


def _resolve_year(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    return DatePeriod(calendar.get_year_start(at, int(match["year"])), "year")


def _resolve_season_year(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    return DatePeriod(calendar.get_season_start(at, SEASONS[match["unit"].casefold()], int(match["year"])), "season")


def _resolve_day_month(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    month, day = _parse_month(match), parse_day(match["day"])
    return DatePeriod(calendar.get_day(at, calendar.find_nearest_year(at, month, direction, day), month, day), "day")


def _resolve_bare_month(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    month = _parse_month(match)
    return DatePeriod(calendar.get_day(at, calendar.find_nearest_year(at, month, direction), month, 1), "month")


def _resolve_bare_season(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    first = SEASONS[match["unit"].casefold()]
    number = calendar.find_nearest_year(at, first, direction)
    runs = direction > 0 and first <= at.month <= first + 2
    return DatePeriod(calendar.get_season_start(at, first, at.year if runs else number), "season")


def _resolve_numeric(match: re.Match[str], at: datetime, direction: int) -> DatePeriod | None:
    one, other = int(match["day"]), int(match["other"])
    if match["mark"] == "/" and one <= _MONTHS_OF_A_YEAR and other <= _MONTHS_OF_A_YEAR and one != other:
        return None  # of the third of April, or the fourth of March
    if match["mark"] == "/" and other > _MONTHS_OF_A_YEAR:
        one, other = other, one
    return DatePeriod(calendar.get_day(at, int(match["year"]), other, one), "day")


def _resolve_quarter(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    said = match["quarter"].casefold()
    number = _QUARTERS.index(said) + 1 if said in _QUARTERS else int(said.strip("qstndrh"))
    return DatePeriod(calendar.get_day(at, int(match["year"]), 3 * number - 2, 1), "quarter")


def _resolve_bare_quarter(match: re.Match[str], at: datetime, direction: int) -> DatePeriod:
    first = 3 * int(match["quarter"][1]) - 2
    return DatePeriod(calendar.get_day(at, calendar.find_nearest_year(at, first, direction), first, 1), "quarter")


def _build_rule(
    pattern: str, handler: Handler, *, relative: bool = False, partial: bool = False, bare: bool = False, sign: str = ""
) -> tuple[frozenset[str], re.Pattern[str], Handler, bool, bool, bool]:
    """`bare` is what is a date in a statement only where that says what happened once, or will."""
    parts = {"year": _YEAR, "month": _MONTH, "name": r"(?P<feast>"}
    named = {sign} if sign else {name for name, part in parts.items() if part in pattern}
    return (
        frozenset(named or {"word"}),
        lazy_compile(pattern, re.IGNORECASE),
        handler,
        relative,
        partial or (bare and not relative),
        bare,
    )


_SIDE = r"(?P<side>this\s+past|this\s+coming|last|next|this|past|coming)\s+"
_TURKISH_I = {0x130: "i", 0x131: "i"}  # what a pattern that ignores case takes for an i, and casefold does not
_BEFORE_LAST = r"\s+(?P<side>before\s+last)" + _END + english_tense.ALONE
_BEFORE_HOLIDAY = _BEFORE.replace("|through)", "|through|over)")
_QUARTERS = ("first", "second", "third", "fourth")
_MONTHS_OF_A_YEAR = 12
_MAX_MATCHES = 200  # dates of one pattern that are read of a text
_RULES = (
    _build_rule(_BEFORE + r"(?P<year>(?:19|20)\d\d)-(?P<month>[01]\d)-(?P<day>[0-3]\d)" + _END, _resolve_iso),
    _build_rule(_BEFORE + r"(?:the\s+)?" + _DAY + r"\s+(?:of\s+)?" + _MONTH + r",?\s+" + _YEAR + _END, _resolve_full),
    _build_rule(_BEFORE + _MONTH + r"\s+(?:the\s+)?" + _DAY + r",?\s+" + _YEAR + _END, _resolve_full),
    _build_rule(_BEFORE + _MONTH + r",?\s+(?:of\s+)?" + _YEAR + _NOT_AMOUNT + _END, _resolve_month_year),
    _build_rule(_BEFORE + r"(?:the\s+)?(?P<unit>spring|summer|autumn|fall|winter)\s+(?:of\s+)?" + _YEAR + _END, _resolve_season_year),
    _build_rule(_ANY_PREP + r"(?:the\s+year\s+)?" + _YEAR + _NOT_AMOUNT + _END, _resolve_year),
    _build_rule(_BEFORE + r"(?P<near>the\s+day\s+before\s+yesterday|the\s+day\s+after\s+tomorrow|yesterday|tomorrow|tonight|last\s+night"
          r"|this\s+(?:morning|afternoon|evening)|today)" + _PART + r"(?:'s)?" + _END, _resolve_near, relative=True),
    _build_rule(_BEFORE + r"(?:the\s+)?" + _SIDE + _WEEKDAY + _PART + r"(?:'s)?" + _END, _resolve_relative_weekday, relative=True),
    _build_rule(_NOT_HABITUAL + _NOT_HOLIDAY + _BEFORE + r"(?P<side>)" + _WEEKDAY + _PART + _END, _resolve_relative_weekday, relative=True),
    _build_rule(_NOT_HABITUAL + _NOT_HOLIDAY + _BEFORE + _WEEKDAY + r"\s+week" + _END + english_tense.ALONE, _resolve_weekday_week, relative=True, sign="week"),
    _build_rule(_BEFORE + r"(?:the\s+)?(?P<unit>weekend|week|month|year|spring|summer|autumn|fall|winter)" + _BEFORE_LAST, _resolve_relative_unit,
          relative=True, sign="before last"),
    _build_rule(r"(?<!the )" + _BEFORE + r"(?P<side>this\s+past|this\s+coming|last|next|this)\s+"
          r"(?P<unit>weekend|week|month|year|spring|summer|autumn|fall|winter)(?:'s)?" + _END, _resolve_relative_unit, relative=True),
    _build_rule(_BEFORE + r"(?P<side>last|next|this)\s+" + _MONTH + _END, _resolve_relative_month, relative=True),
    _build_rule(r"(?<![\w/.-])(?:(?P<prep>since|from|until)\s+)?(?:(?:about|around|roughly|almost|over|like|some|just)\s+)?(?P<forward>)(?P<ahead>)"
          + COUNT + r"\s+" + _UNIT + r"\s+ago" + _END, _resolve_shift, relative=True),
    _build_rule(r"(?<![\w/.-])(?P<prep>)(?P<ahead>)(?P<forward>in)\s+(?:(?:about|around)\s+)?" + COUNT + r"\s+" + _UNIT + r"(?:'s?\s+time|\s+from\s+now)?" + _END,
          _resolve_shift, relative=True),
    _build_rule(r"(?<![\w/.-])(?P<prep>)(?P<forward>)" + COUNT + r"\s+" + _UNIT + r"\s+(?P<ahead>from\s+now)" + _END, _resolve_shift, relative=True),
    _build_rule(_BEFORE + r"(?:the\s+)?" + _DAY + r"\s+(?:of\s+)?" + _MONTH + _END, _resolve_day_month, partial=True),
    _build_rule(_BEFORE + _MONTH + r"\s+(?:the\s+)?" + _DAY + _END, _resolve_day_month, partial=True),
    _build_rule(_ANY_PREP + _MONTH + _END, _resolve_bare_month, partial=True),
    _build_rule(_BEFORE + r"(?P<day>\d{1,2})(?P<mark>/)(?P<other>\d{1,2})/" + _YEAR + r"(?![\w/-])", _resolve_numeric, sign="numeric"),
    _build_rule(r"(?<![\w/.-])(?P<prep>on|since|until|till|by|from|before|after)\s+(?P<day>[0-3]?\d)(?P<mark>\.)(?P<other>[01]?\d)\." + _YEAR
          + r"(?!\.?\d)" + _END, _resolve_numeric, sign="numeric"),
    _build_rule(_BEFORE + r"(?:the\s+)?(?P<quarter>q[1-4]|(?:first|second|third|fourth|[1-4](?:st|nd|rd|th))(?=\s+quarter))(?:\s+quarter)?(?:\s+of|,)?[\s/-]\s*"
          + _YEAR + _END,  _resolve_quarter, sign="quarter"),
    _build_rule(_BEFORE + _YEAR + r"[\s-]?(?P<quarter>q[1-4])" + _END,  _resolve_quarter, sign="quarter"),
    _build_rule(r"(?<![\w/.-])(?P<prep>in|during|since|until|till|by|from|before|after|of|around|through|throughout)\s+(?:the\s+)?" + english_decades.PART
          + r"(?P<decade>(?:19|20)\d0)['’]?s" + _END, english_decades.resolve_decade, sign="name"),
    _build_rule(r"(?<![\w/.-])(?P<prep>in|during|since|until|till|by|from|before|after|of|around|through|throughout)\s+the\s+" + english_decades.PART
          + r"(?:['’]?(?P<decade>[3-9]0)['’]?s|(?P<tens>" + "|".join(english_decades.TENS) + "))" + _END, english_decades.resolve_decade, sign="name"),
    _build_rule(r"(?<![\w/.-])(?P<prep>)the\s+" + english_decades.PART + r"(?P<decade>(?:19|20)\d0)['’]?s" + _END, english_decades.resolve_decade, sign="name"),
    _build_rule(_BEFORE_HOLIDAY + _HOLIDAY + _PART + r",?\s+(?:of\s+|in\s+)?" + _YEAR + _NOT_AMOUNT + _END, english_holidays.resolve_holiday_year),
    _build_rule(_BEFORE_HOLIDAY + _HOLIDAY + _PART + r"\s+(?:of\s+)?(?P<side>last|this|next)\s+year" + _END, english_holidays.resolve_holiday_of_year, relative=True),
    _build_rule(_BEFORE_HOLIDAY + r"(?:the\s+)?" + _HOLIDAY + r"(?P<part>)" + _BEFORE_LAST, english_holidays.resolve_relative_holiday, relative=True),
    _build_rule(r"(?<!the )(?<!a )" + _BEFORE_HOLIDAY + _SIDE + _HOLIDAY + _PART + _END + r"(?:(?=\s+(?-i:[A-Z]))|" + english_tense.ALONE + ")", english_holidays.resolve_relative_holiday,
          relative=True),
    _build_rule(r"(?<![\w/.-])(?P<prep>on|at|by|since|until|till|for|from|before|after|during|around|over)\s+" + _HOLIDAY + _PART + _END, english_holidays.resolve_bare_holiday, bare=True),
    _build_rule(r"(?<![\w/.-])(?P<prep>)(?<!a )(?P<feast>easter\s+sunday|easter\s+monday|(?-i:Good\s+Friday))" + _PART + _END, english_holidays.resolve_bare_holiday, bare=True),
    _build_rule(r"(?<![\w/.-])(?P<prep>in|during|over|since|until|till)\s+(?:the\s+)?(?:early\s+|late\s+|mid[ -])?" + _SEASON + r"(?!\s+of\b)" + _END
          + english_tense.ALONE, _resolve_bare_season, bare=True, sign="season"),
    _build_rule(_BEFORE + PART_OF + _MONTH + r",?\s+(?:of\s+)?" + _YEAR + _NOT_AMOUNT + _END, _resolve_month_part),
    _build_rule(_BEFORE + PART_OF + _MONTH + _END, _resolve_month_part, partial=True),
    _build_rule(_BEFORE + PART_OF + _YEAR + _NOT_AMOUNT + _END, _resolve_year_part),
    _build_rule(_BEFORE + PART_OF + r"(?P<side>last|this|next)\s+(?P<unit>month|year)" + _END, _resolve_relative_part, relative=True),
    _build_rule(r"(?<!the )" + _BEFORE + r"(?P<side>last|this|next)\s+(?P<unit>quarter)" + _END + english_tense.ALONE, _resolve_relative_unit, relative=True, sign="turned quarter"),
    _build_rule(_ANY_PREP + r"(?P<quarter>q[1-4])" + _END, _resolve_bare_quarter, partial=True, sign="name"),
    _build_rule(_BEFORE + r"the\s+(?P<day>" + ORDINAL + r")\s+of\s+" + _MONTH + r",?\s+" + _YEAR + _END, _resolve_full),
    _build_rule(_BEFORE + r"the\s+(?P<day>" + ORDINAL + r")\s+of\s+" + _MONTH + _END, _resolve_day_month, partial=True),
    _build_rule(r"(?<![\w/.-])(?P<prep>on|by|until|till|since|from|before|after)\s+" + _MONTH + r"\s+(?:the\s+)?(?P<day>" + ORDINAL + ")" + _END, _resolve_day_month,
          partial=True),
    _build_rule(r"(?<![\w/.-])(?P<prep>on|by|until|till|since|from|before|after)\s+the\s+(?!first\b|second\b|third\b)(?P<day>[0-3]?\d(?:st|nd|rd|th)|" + ORDINAL
          + ")" + _END + english_tense.ALONE, _resolve_ordinal, relative=True, bare=True, sign="name"),
    _build_rule(r"(?<![\w/.-])(?P<prep>)" + COUNT + r"\s+" + _SEASON + r"s?\s+ago" + _END, _resolve_seasons_ago, relative=True, sign="season"),
    _build_rule(r"(?<![\w/.-])(?P<prep>)(?P<part>)" + COUNT + r"\s+" + _HOLIDAY + r"(?:e?s)?\s+ago" + _END, english_holidays.resolve_holidays_ago, relative=True),
    _build_rule(r"(?<![\w/.-])(?P<prep>in|during|since|from|of|throughout)\s+the\s+" + english_decades.PART + r"(?:twenties|['’]?20s)" + _END, english_decades.resolve_twenties, bare=True,
          sign="name"),
)  # fmt: skip


def has_date_sign(text: str) -> bool:
    """Whether the text may have a date: most have none, and are seen to have none at once."""
    return bool(_find_signs(text))


@lru_cache(maxsize=64)
def _find_signs(text: str) -> frozenset[str]:
    """Kept, because more than one rule looks at a text in a row."""
    folded = text.casefold()
    signs = [name for name, sign in _SIGNS.items() if sign.search(folded)]
    if any(map(folded.__contains__, _SIGN_NAMES)) and _SIGN_NAME.search(folded):
        signs.append("name")
    for first, more in _FURTHER_SIGNS.items() if signs else ():
        if first in signs:
            signs += [name for name, sign in more.items() if sign.search(folded)]
    return frozenset(signs)


@cache
def _select_rules(signs: frozenset[str]) -> tuple[tuple[re.Pattern[str], Handler, bool, bool, bool], ...]:
    """Those of which every sign is there."""
    return tuple(rule[1:] for rule in _RULES if rule[0] <= signs)


def match_dates(text: str, at: datetime, *, question: str = "") -> Iterator[DateMatch]:
    """Every reading of every pattern: start, end, period, preposition, relative, partial. What is `asked`, of which the
    text is a part or all, may be asked of each year."""
    if not text.isascii():
        text = text.translate(_TURKISH_I)
    tense = english_tense.infer_question_direction if question else english_tense.infer_date_direction
    lean = None  # most of what has a sign has no date, and needs none
    for pattern, handler, relative, partial, bare in _select_rules(_find_signs(text)):
        for found in islice(pattern.finditer(text), _MAX_MATCHES):
            lean = english_tense.infer_direction(question or text) if lean is None else lean
            groups = found.groupdict()
            month, prep = groups.get("month") or "", (groups.get("prep") or "").casefold()
            if month.rstrip(".") in _CAPITAL_ONLY and not (groups.get("year") or _is_lone_month(groups, prep)):
                continue
            own = tense(text, *found.span(), prep) if bare and not (question and relative) else lean
            try:
                period = handler(found, at, own) if own else None
            except (ValueError, OverflowError):
                continue
            if period:
                yield found.start(), found.end(), period, prep, relative, partial and period.grain != "decade"


def _is_lone_month(groups: Mapping[str, str | None], prep: str) -> bool:
    """Whether a month stands without a day behind a word that months stand behind, and verbs do not."""
    return prep in _BEFORE_MONTHS and not groups.get("day")
