"""English date mentions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache, lru_cache
from itertools import islice

from muniment.memory.rules.dates import english_decades, english_holidays as english_feasts, english_tense
from muniment.memory.rules.dates.english_counts import COUNT, ORDINAL, PART_OF, count, of_month, part
from muniment.memory.rules.language import calendar, holidays as feasts
from muniment.memory.rules.language.calendar import MONTHS, SEASONS, When
from muniment.memory.rules.language.lazy_regex import late

Reading = tuple[int, int, When, str, bool, bool]
Handler = Callable[[re.Match[str], datetime, int], When | None]

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
_FEAST = (
    r"(?<!orthodox )(?<!jewish )(?<!persian )(?<!islamic )(?<!chinese )(?<!lunar )(?P<feast>" + feasts.ENGLISH + ")"
)
_BEFORE = r"(?<![\w/.-])(?:(?P<prep>on|in|at|by|since|until|till|from|for|before|after|during|of|around|about|to|starting|through)\s+)?"
_ANY_PREP = (
    r"(?<![\w/.-])(?P<prep>in|since|until|till|by|from|for|before|after|during|of|around|about|to|through|starting)\s+"
)
_END = r"(?![\w-])"
_NOT_HABITUAL = r"(?<!every )(?<!each )(?<!most )"
_NO_FEAST = r"(?<!easter )(?<!(?-i:Good ))"
_NOT_AMOUNT = r"(?!,?\d|\.\d|\s*(?:%|\$|€|k\b|km|m\b|meters|metres|miles|people|dollars|euros|pounds|steps|words|times|calories|users|hours|days|kg|lines))"
# May, March and short names are also other words; there the capital decides, or what stands beside it.
_CAPITAL_ONLY = frozenset({"may", "march", "mar", "jan", "dec", "sep"})
_BEFORE_MONTHS = frozenset({"in", "since", "until", "till"})

# Every pattern below needs its own of these; most statements have none, and are not searched by all of them.
_SIGNS = {
    "year": late("19|20"),
    # Its first letter first, which is found fast.
    "month": late(
        r"[adfjmnos](?<!\w\w)(?:(?<=j)(?:anuary|une|uly|(?:an|un|ul)\b)|(?<=f)eb(?:ruary|\b)|(?<=m)(?:arch|ay|ar\b)|(?<=a)(?:pril|ugust|(?:pr|ug)\b)"
        r"|(?<=s)ep(?:tember|t?\b)|(?<=o)ct(?:ober|\b)|(?<=n)ov(?:ember|\b)|(?<=d)ec(?:ember|\b))"
    ),
    "word": late(
        "day|night|tomorrow|morning|afternoon|evening|week|month|year|spring|summer|autumn|fall|winter|quarter"
    ),
}
# Plain strings are found faster than patterns: one of these is in what has a name, or is said of a decade.
_NAMES = ("mas", "boxing", "valentine", "patrick", "paddy", "friday", "easter", "independence", "fourth", "hallow", "thanksg",
          "new", "ties", "0", "q1", "q2", "q3", "q4", " the ")  # fmt: skip
_NAME = late(
    r"[tx]mas|boxing|valentine|patrick|paddy|good\s+fri|easter|independence|fourth|hallow|thanksg|new\s+year|0['’]?s\b|(?:[efhnx]|[oi]r)ties|\bq[1-4]\b"
    rf"|\b(?:on|by|since|until|till|from|between|before|after|to|and)\s+the\s+(?:[0-3]?\d(?:st|nd|rd|th)|{ORDINAL})\b"
)
_MORE = {  # of what has the first sign
    "year": {"numeric": late(r"\d[/.]\d"), "quarter": late(r"quarter|q[1-4]")},
    "word": {
        "season": late("spring|summer|autumn|fall|winter"),
        "before last": late(r"before\s+last"),
        "week": late(r"day\s+week"),
        "turned quarter": late(r"(?:last|this|next)\s+quarter"),
    },
}


def _month(found: re.Match[str]) -> int:
    return _MONTH_NAMES[found["month"].rstrip(".").casefold()]


def _near(found: re.Match[str], at: datetime, lean: int) -> When:
    words = re.sub(r"\s+", " ", found["near"].casefold())
    shift = {
        "the day before yesterday": -2, "the day after tomorrow": 2, "yesterday": -1, "last night": -1, "tomorrow": 1,
    }.get(words, 0)  # fmt: skip
    part = (found["part"] or words.removeprefix("this ") * words.startswith("this ") or "").casefold()
    part = "night" if words in ("tonight", "last night") else part
    return When(calendar.days(at, shift), "day", part=part)


def _turned_weekday(found: re.Match[str], at: datetime, lean: int) -> When:
    index = _WEEKDAYS.index(found["weekday"].casefold())
    side = re.sub(r"\s+", " ", (found["side"] or "").casefold())
    part = (found["part"] or "").casefold()
    if side == "this":
        return When(calendar.weekday(at, index, 0), "day", part=part)
    lean = {"last": -1, "past": -1, "this past": -1, "next": 1, "coming": 1, "this coming": 1}.get(side, lean)
    return When(calendar.nearest_weekday(at, index, lean), "day", part=part)


def _weekday_week(found: re.Match[str], at: datetime, lean: int) -> When:
    return When(calendar.days(calendar.nearest_weekday(at, _WEEKDAYS.index(found["weekday"].casefold()), 1), 7), "day")


def _turned(found: re.Match[str], at: datetime, lean: int) -> When:
    step = {"last": -1, "this past": -1, "next": 1, "this coming": 1, "before last": -2}.get(
        re.sub(r"\s+", " ", found["side"].casefold()), 0
    )
    unit = found["unit"].casefold()
    if unit == "week":
        return When(calendar.weekday(at, 0, step), "week")
    if unit == "weekend":
        return When(calendar.weekday(at, 5, step), "weekend")
    if unit == "month":
        return When(calendar.months(at, step), "month")
    if unit == "year":
        return When(calendar.year(at, at.year + step), "year")
    if unit == "quarter":
        return When(calendar.months(at, 3 * step - (at.month - 1) % 3), "quarter")
    return When(calendar.season(at, SEASONS[unit], _turned_year(at, SEASONS[unit], step)), "season")


def _turned_year(at: datetime, first: int, step: int) -> int:
    if step < 0:
        return at.year + step + 1 - (first + 2 >= at.month)
    return at.year + (step > 0 and first <= at.month)


def _turned_month(found: re.Match[str], at: datetime, lean: int) -> When:
    month, side = _month(found), found["side"].casefold()
    number = {"last": at.year - (month >= at.month), "next": at.year + (month <= at.month)}.get(side, at.year)
    return When(calendar.day(at, number, month, 1), "month")


def _shifted(found: re.Match[str], at: datetime, lean: int) -> When | None:
    if lean < 0 and found["forward"]:
        return None  # "in two weeks" of the past is how long it took
    many, word = count(found["count"])
    many = many if found["forward"] or found["ahead"] else -many
    unit = found["unit"].casefold()
    if unit == "month":
        return When(calendar.months(at, many), "month")
    if unit == "year":
        return When(calendar.year(at, at.year + many), "year")
    length = {"week": 7, "fortnight": 14}.get(unit, 1)
    vague = length > 1 or (word.isalpha() and word in ("few", "several")) or " " in word
    return When(calendar.days(at, many * length), "about" if vague else "day")


def _iso(found: re.Match[str], at: datetime, lean: int) -> When:
    return When(calendar.day(at, int(found["year"]), int(found["month"]), int(found["day"])), "day")


def _full(found: re.Match[str], at: datetime, lean: int) -> When:
    return When(calendar.day(at, int(found["year"]), _month(found), of_month(found["day"])), "day")


def _month_year(found: re.Match[str], at: datetime, lean: int) -> When:
    return When(calendar.day(at, int(found["year"]), _month(found), 1), "month")


def _part_of_month(found: re.Match[str], at: datetime, lean: int) -> When:
    year = found.groupdict().get("year")
    first = _month_year(found, at, lean) if year else _bare_month(found, at, lean)
    return _in_part(found, first)


def _in_part(found: re.Match[str], whole: When) -> When:
    which = part(found["which"])
    start = calendar.of_month(whole.start, which) if whole.grain == "month" else calendar.of_year(whole.start, which)
    return When(start, whole.grain, part=which)


def _part_of_year(found: re.Match[str], at: datetime, lean: int) -> When:
    return _in_part(found, _year(found, at, lean))


def _part_of_turned(found: re.Match[str], at: datetime, lean: int) -> When:
    return _in_part(found, _turned(found, at, lean))


def _ordinal(found: re.Match[str], at: datetime, lean: int) -> When:
    """The nearest such day of a month; of those that have no such day, the one after or before."""
    day = of_month(found["day"])
    months = (calendar.months(at, lean * n) for n in range(4))
    days = (
        first + timedelta(days=day - 1) for first in months if (first + timedelta(days=day - 1)).month == first.month
    )
    here = calendar.midnight(at)
    return When(next(one for one in days if (one >= here if lean > 0 else one <= here)), "day")


def _seasons_ago(found: re.Match[str], at: datetime, lean: int) -> When:
    first = SEASONS[found["unit"].casefold()]
    return When(calendar.season(at, first, _turned_year(at, first, -1) - count(found["count"])[0] + 1), "season")


def _year(found: re.Match[str], at: datetime, lean: int) -> When:
    return When(calendar.year(at, int(found["year"])), "year")


def _season_year(found: re.Match[str], at: datetime, lean: int) -> When:
    return When(calendar.season(at, SEASONS[found["unit"].casefold()], int(found["year"])), "season")


def _day_month(found: re.Match[str], at: datetime, lean: int) -> When:
    month, day = _month(found), of_month(found["day"])
    return When(calendar.day(at, calendar.nearest_year(at, month, lean, day), month, day), "day")


def _bare_month(found: re.Match[str], at: datetime, lean: int) -> When:
    month = _month(found)
    return When(calendar.day(at, calendar.nearest_year(at, month, lean), month, 1), "month")


def _bare_season(found: re.Match[str], at: datetime, lean: int) -> When:
    first = SEASONS[found["unit"].casefold()]
    number = calendar.nearest_year(at, first, lean)
    runs = lean > 0 and first <= at.month <= first + 2
    return When(calendar.season(at, first, at.year if runs else number), "season")


def _numeric(found: re.Match[str], at: datetime, lean: int) -> When | None:
    one, other = int(found["day"]), int(found["other"])
    if found["mark"] == "/" and one <= _MONTHS_OF_A_YEAR and other <= _MONTHS_OF_A_YEAR and one != other:
        return None  # of the third of April, or the fourth of March
    if found["mark"] == "/" and other > _MONTHS_OF_A_YEAR:
        one, other = other, one
    return When(calendar.day(at, int(found["year"]), other, one), "day")


def _quarter(found: re.Match[str], at: datetime, lean: int) -> When:
    said = found["quarter"].casefold()
    number = _QUARTERS.index(said) + 1 if said in _QUARTERS else int(said.strip("qstndrh"))
    return When(calendar.day(at, int(found["year"]), 3 * number - 2, 1), "quarter")


def _bare_quarter(found: re.Match[str], at: datetime, lean: int) -> When:
    first = 3 * int(found["quarter"][1]) - 2
    return When(calendar.day(at, calendar.nearest_year(at, first, lean), first, 1), "quarter")


def _rule(
    pattern: str, handler: Handler, *, relative: bool = False, partial: bool = False, bare: bool = False, sign: str = ""
) -> tuple[frozenset[str], re.Pattern[str], Handler, bool, bool, bool]:
    """`bare` is what is a date in a statement only where that says what happened once, or will."""
    parts = {"year": _YEAR, "month": _MONTH, "name": r"(?P<feast>"}
    named = {sign} if sign else {name for name, part in parts.items() if part in pattern}
    return (
        frozenset(named or {"word"}),
        late(pattern, re.IGNORECASE),
        handler,
        relative,
        partial or (bare and not relative),
        bare,
    )


_SIDE = r"(?P<side>this\s+past|this\s+coming|last|next|this|past|coming)\s+"
_TURKISH = {0x130: "i", 0x131: "i"}  # what a pattern that ignores case takes for an i, and casefold does not
_BEFORE_LAST = r"\s+(?P<side>before\s+last)" + _END + english_tense.ALONE
_BEFORE_FEAST = _BEFORE.replace("|through)", "|through|over)")
_QUARTERS = ("first", "second", "third", "fourth")
_MONTHS_OF_A_YEAR = 12
_MOST = 200  # dates of one pattern that are read of a text
_RULES = (
    _rule(_BEFORE + r"(?P<year>(?:19|20)\d\d)-(?P<month>[01]\d)-(?P<day>[0-3]\d)" + _END, _iso),
    _rule(_BEFORE + r"(?:the\s+)?" + _DAY + r"\s+(?:of\s+)?" + _MONTH + r",?\s+" + _YEAR + _END, _full),
    _rule(_BEFORE + _MONTH + r"\s+(?:the\s+)?" + _DAY + r",?\s+" + _YEAR + _END, _full),
    _rule(_BEFORE + _MONTH + r",?\s+(?:of\s+)?" + _YEAR + _NOT_AMOUNT + _END, _month_year),
    _rule(_BEFORE + r"(?:the\s+)?(?P<unit>spring|summer|autumn|fall|winter)\s+(?:of\s+)?" + _YEAR + _END, _season_year),
    _rule(_ANY_PREP + r"(?:the\s+year\s+)?" + _YEAR + _NOT_AMOUNT + _END, _year),
    _rule(_BEFORE + r"(?P<near>the\s+day\s+before\s+yesterday|the\s+day\s+after\s+tomorrow|yesterday|tomorrow|tonight|last\s+night"
          r"|this\s+(?:morning|afternoon|evening)|today)" + _PART + r"(?:'s)?" + _END, _near, relative=True),
    _rule(_BEFORE + r"(?:the\s+)?" + _SIDE + _WEEKDAY + _PART + r"(?:'s)?" + _END, _turned_weekday, relative=True),
    _rule(_NOT_HABITUAL + _NO_FEAST + _BEFORE + r"(?P<side>)" + _WEEKDAY + _PART + _END, _turned_weekday, relative=True),
    _rule(_NOT_HABITUAL + _NO_FEAST + _BEFORE + _WEEKDAY + r"\s+week" + _END + english_tense.ALONE, _weekday_week, relative=True, sign="week"),
    _rule(_BEFORE + r"(?:the\s+)?(?P<unit>weekend|week|month|year|spring|summer|autumn|fall|winter)" + _BEFORE_LAST, _turned,
          relative=True, sign="before last"),
    _rule(r"(?<!the )" + _BEFORE + r"(?P<side>this\s+past|this\s+coming|last|next|this)\s+"
          r"(?P<unit>weekend|week|month|year|spring|summer|autumn|fall|winter)(?:'s)?" + _END, _turned, relative=True),
    _rule(_BEFORE + r"(?P<side>last|next|this)\s+" + _MONTH + _END, _turned_month, relative=True),
    _rule(r"(?<![\w/.-])(?:(?P<prep>since|from|until)\s+)?(?:(?:about|around|roughly|almost|over|like|some|just)\s+)?(?P<forward>)(?P<ahead>)"
          + COUNT + r"\s+" + _UNIT + r"\s+ago" + _END, _shifted, relative=True),
    _rule(r"(?<![\w/.-])(?P<prep>)(?P<ahead>)(?P<forward>in)\s+(?:(?:about|around)\s+)?" + COUNT + r"\s+" + _UNIT + r"(?:'s?\s+time|\s+from\s+now)?" + _END,
          _shifted, relative=True),
    _rule(r"(?<![\w/.-])(?P<prep>)(?P<forward>)" + COUNT + r"\s+" + _UNIT + r"\s+(?P<ahead>from\s+now)" + _END, _shifted, relative=True),
    _rule(_BEFORE + r"(?:the\s+)?" + _DAY + r"\s+(?:of\s+)?" + _MONTH + _END, _day_month, partial=True),
    _rule(_BEFORE + _MONTH + r"\s+(?:the\s+)?" + _DAY + _END, _day_month, partial=True),
    _rule(_ANY_PREP + _MONTH + _END, _bare_month, partial=True),
    _rule(_BEFORE + r"(?P<day>\d{1,2})(?P<mark>/)(?P<other>\d{1,2})/" + _YEAR + r"(?![\w/-])", _numeric, sign="numeric"),
    _rule(r"(?<![\w/.-])(?P<prep>on|since|until|till|by|from|before|after)\s+(?P<day>[0-3]?\d)(?P<mark>\.)(?P<other>[01]?\d)\." + _YEAR
          + r"(?!\.?\d)" + _END, _numeric, sign="numeric"),
    _rule(_BEFORE + r"(?:the\s+)?(?P<quarter>q[1-4]|(?:first|second|third|fourth|[1-4](?:st|nd|rd|th))(?=\s+quarter))(?:\s+quarter)?(?:\s+of|,)?[\s/-]\s*"
          + _YEAR + _END,  _quarter, sign="quarter"),
    _rule(_BEFORE + _YEAR + r"[\s-]?(?P<quarter>q[1-4])" + _END,  _quarter, sign="quarter"),
    _rule(r"(?<![\w/.-])(?P<prep>in|during|since|until|till|by|from|before|after|of|around|through|throughout)\s+(?:the\s+)?" + english_decades.PART
          + r"(?P<decade>(?:19|20)\d0)['’]?s" + _END, english_decades.decade, sign="name"),
    _rule(r"(?<![\w/.-])(?P<prep>in|during|since|until|till|by|from|before|after|of|around|through|throughout)\s+the\s+" + english_decades.PART
          + r"(?:['’]?(?P<decade>[3-9]0)['’]?s|(?P<tens>" + "|".join(english_decades.TENS) + "))" + _END, english_decades.decade, sign="name"),
    _rule(r"(?<![\w/.-])(?P<prep>)the\s+" + english_decades.PART + r"(?P<decade>(?:19|20)\d0)['’]?s" + _END, english_decades.decade, sign="name"),
    _rule(_BEFORE_FEAST + _FEAST + _PART + r",?\s+(?:of\s+|in\s+)?" + _YEAR + _NOT_AMOUNT + _END, english_feasts.feast_year),
    _rule(_BEFORE_FEAST + _FEAST + _PART + r"\s+(?:of\s+)?(?P<side>last|this|next)\s+year" + _END, english_feasts.feast_of_year, relative=True),
    _rule(_BEFORE_FEAST + r"(?:the\s+)?" + _FEAST + r"(?P<part>)" + _BEFORE_LAST, english_feasts.turned_feast, relative=True),
    _rule(r"(?<!the )(?<!a )" + _BEFORE_FEAST + _SIDE + _FEAST + _PART + _END + r"(?:(?=\s+(?-i:[A-Z]))|" + english_tense.ALONE + ")", english_feasts.turned_feast,
          relative=True),
    _rule(r"(?<![\w/.-])(?P<prep>on|at|by|since|until|till|for|from|before|after|during|around|over)\s+" + _FEAST + _PART + _END, english_feasts.bare_feast, bare=True),
    _rule(r"(?<![\w/.-])(?P<prep>)(?<!a )(?P<feast>easter\s+sunday|easter\s+monday|(?-i:Good\s+Friday))" + _PART + _END, english_feasts.bare_feast, bare=True),
    _rule(r"(?<![\w/.-])(?P<prep>in|during|over|since|until|till)\s+(?:the\s+)?(?:early\s+|late\s+|mid[ -])?" + _SEASON + r"(?!\s+of\b)" + _END
          + english_tense.ALONE, _bare_season, bare=True, sign="season"),
    _rule(_BEFORE + PART_OF + _MONTH + r",?\s+(?:of\s+)?" + _YEAR + _NOT_AMOUNT + _END, _part_of_month),
    _rule(_BEFORE + PART_OF + _MONTH + _END, _part_of_month, partial=True),
    _rule(_BEFORE + PART_OF + _YEAR + _NOT_AMOUNT + _END, _part_of_year),
    _rule(_BEFORE + PART_OF + r"(?P<side>last|this|next)\s+(?P<unit>month|year)" + _END, _part_of_turned, relative=True),
    _rule(r"(?<!the )" + _BEFORE + r"(?P<side>last|this|next)\s+(?P<unit>quarter)" + _END + english_tense.ALONE, _turned, relative=True, sign="turned quarter"),
    _rule(_ANY_PREP + r"(?P<quarter>q[1-4])" + _END, _bare_quarter, partial=True, sign="name"),
    _rule(_BEFORE + r"the\s+(?P<day>" + ORDINAL + r")\s+of\s+" + _MONTH + r",?\s+" + _YEAR + _END, _full),
    _rule(_BEFORE + r"the\s+(?P<day>" + ORDINAL + r")\s+of\s+" + _MONTH + _END, _day_month, partial=True),
    _rule(r"(?<![\w/.-])(?P<prep>on|by|until|till|since|from|before|after)\s+" + _MONTH + r"\s+(?:the\s+)?(?P<day>" + ORDINAL + ")" + _END, _day_month,
          partial=True),
    _rule(r"(?<![\w/.-])(?P<prep>on|by|until|till|since|from|before|after)\s+the\s+(?!first\b|second\b|third\b)(?P<day>[0-3]?\d(?:st|nd|rd|th)|" + ORDINAL
          + ")" + _END + english_tense.ALONE, _ordinal, relative=True, bare=True, sign="name"),
    _rule(r"(?<![\w/.-])(?P<prep>)" + COUNT + r"\s+" + _SEASON + r"s?\s+ago" + _END, _seasons_ago, relative=True, sign="season"),
    _rule(r"(?<![\w/.-])(?P<prep>)(?P<part>)" + COUNT + r"\s+" + _FEAST + r"(?:e?s)?\s+ago" + _END, english_feasts.feasts_ago, relative=True),
    _rule(r"(?<![\w/.-])(?P<prep>in|during|since|from|of|throughout)\s+the\s+" + english_decades.PART + r"(?:twenties|['’]?20s)" + _END, english_decades.twenties, bare=True,
          sign="name"),
)  # fmt: skip


def signed(text: str) -> bool:
    """Whether the text may have a date: most have none, and are seen to have none at once."""
    return bool(_signs(text))


@lru_cache(maxsize=64)
def _signs(text: str) -> frozenset[str]:
    """Kept, because more than one rule looks at a text in a row."""
    folded = text.casefold()
    signs = [name for name, sign in _SIGNS.items() if sign.search(folded)]
    if any(map(folded.__contains__, _NAMES)) and _NAME.search(folded):
        signs.append("name")
    for first, more in _MORE.items() if signs else ():
        if first in signs:
            signs += [name for name, sign in more.items() if sign.search(folded)]
    return frozenset(signs)


@cache
def _rules(signs: frozenset[str]) -> tuple[tuple[re.Pattern[str], Handler, bool, bool, bool], ...]:
    """Those of which every sign is there."""
    return tuple(rule[1:] for rule in _RULES if rule[0] <= signs)


def read(text: str, at: datetime, *, asked: str = "") -> Iterator[Reading]:
    """Every reading of every pattern: start, end, period, preposition, relative, partial. What is `asked`, of which the
    text is a part or all, may be asked of each year."""
    if not text.isascii():
        text = text.translate(_TURKISH)
    tense = english_tense.every if asked else english_tense.once
    lean = None  # most of what has a sign has no date, and needs none
    for pattern, handler, relative, partial, bare in _rules(_signs(text)):
        for found in islice(pattern.finditer(text), _MOST):
            lean = english_tense.lean(asked or text) if lean is None else lean
            groups = found.groupdict()
            month, prep = groups.get("month") or "", (groups.get("prep") or "").casefold()
            if month.rstrip(".") in _CAPITAL_ONLY and not (groups.get("year") or _alone(groups, prep)):
                continue
            own = tense(text, *found.span(), prep) if bare and not (asked and relative) else lean
            try:
                when = handler(found, at, own) if own else None
            except (ValueError, OverflowError):
                continue
            if when:
                yield found.start(), found.end(), when, prep, relative, partial and when.grain != "decade"


def _alone(groups: Mapping[str, str | None], prep: str) -> bool:
    """Whether a month stands without a day behind a word that months stand behind, and verbs do not."""
    return prep in _BEFORE_MONTHS and not groups.get("day")
