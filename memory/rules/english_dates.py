"""English date mentions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from muniment.memory.rules import calendar
from muniment.memory.rules.calendar import MONTHS, SEASONS, When

Reading = tuple[int, int, When, str, bool, bool]
Handler = Callable[[re.Match[str], datetime, int], When | None]

_MONTH_NAMES = {name.casefold(): index for index, name in enumerate(MONTHS, 1)}
_MONTH_NAMES |= {name[:3].casefold(): index for name, index in zip(MONTHS, range(1, 13), strict=True)} | {"sept": 9}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {
    word: n
    for n, word in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], 1
    )
}
_NUMBERS |= {
    "a": 1,
    "an": 1,
    "a couple of": 2,
    "couple of": 2,
    "a few": 3,
    "few": 3,
    "several": 4,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
}

_MONTH = (
    r"(?P<month>january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)\b\.?)"
)
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_WEEKDAY = r"(?P<weekday>" + "|".join(_WEEKDAYS) + r")"
_PART = r"(?:\s+(?P<part>morning|afternoon|evening|night))?"
_UNIT = r"(?P<unit>day|week|month|year)s?"
_COUNT = r"(?P<count>\d{1,4}|an?\s+couple\s+of|a\s+few|couple\s+of|few|several|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty)"
_BEFORE = r"(?<![\w/.-])(?:(?P<prep>on|in|at|by|since|until|till|from|for|before|after|during|of|around|about|to|starting|through)\s+)?"
_ANY_PREP = (
    r"(?<![\w/.-])(?P<prep>in|since|until|till|by|from|for|before|after|during|of|around|about|to|through|starting)\s+"
)
_END = r"(?![\w-])"
_NOT_HABITUAL = r"(?<!every )(?<!each )(?<!most )"
_NOT_AMOUNT = r"(?!,?\d|\.\d|\s*(?:%|\$|€|k\b|km|m\b|meters|metres|miles|people|dollars|euros|pounds|steps|words|times|calories|users|hours|days|kg|lines))"
# May, March and short names are also other words; there the capital decides, or what stands beside it.
_CAPITAL_ONLY = frozenset({"may", "march", "mar", "jan", "dec", "sep"})
_BEFORE_MONTHS = frozenset({"in", "since", "until", "till"})

_FUTURE = re.compile(
    r"\b(?:will|going\s+to|plan\w*|want\w*|hop(?:e|es|ing)|shall|training|need\w*|upcoming|scheduled|would\s+like|intend\w*|aim\w*|goal|deadline|due"
    r"|(?:'m|am|is|are)\s+(?!born)\w{2,14}ing|remind|next|must|have\s+to|has\s+to|should|looking\s+forward|preparing|saving)\b|'ll\b|'d\s+like\b", re.IGNORECASE)  # fmt: skip
_PAST = re.compile(
    r"\b(?:was|were|did|didn't|had|went|got|came|met|saw|took|made|bought|left|began|became|ran|won|lost|found|taught|wrote|built|gave|ate|felt"
    r"|read|sold|flew|drove|broke|quit|spent|told|born|been|ago|[a-z]{2,20}ed)\b", re.IGNORECASE)  # fmt: skip

# Every pattern below needs its own of these; most statements have none, and are not searched by all of them.
_SIGNS = {
    "year": re.compile("19|20"),
    "month": re.compile(re.sub(r"\(\?P<month>", r"\\b(?:", _MONTH)),
    "word": re.compile("day|night|tomorrow|morning|afternoon|evening|week|month|year|spring|summer|autumn|fall|winter"),
}


def _lean(text: str) -> int:
    if _FUTURE.search(text):
        return 1
    return -1 if _PAST.search(text) else 1


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


def _turned(found: re.Match[str], at: datetime, lean: int) -> When:
    step = {"last": -1, "this past": -1, "next": 1, "this coming": 1}.get(
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
    return When(calendar.season(at, SEASONS[unit], _turned_year(at, SEASONS[unit], step)), "season")


def _turned_year(at: datetime, first: int, step: int) -> int:
    if step < 0:
        return at.year - (first + 2 >= at.month)
    return at.year + (step > 0 and first <= at.month)


def _turned_month(found: re.Match[str], at: datetime, lean: int) -> When:
    month, side = _month(found), found["side"].casefold()
    number = {"last": at.year - (month >= at.month), "next": at.year + (month <= at.month)}.get(side, at.year)
    return When(calendar.day(at, number, month, 1), "month")


def _shifted(found: re.Match[str], at: datetime, lean: int) -> When | None:
    if lean < 0 and found["forward"]:
        return None  # "in two weeks" of the past is how long it took
    word = re.sub(r"\s+", " ", found["count"].casefold())
    count = int(word) if word.isdigit() else _NUMBERS.get(word, 2)
    count = count if found["forward"] or found["ahead"] else -count
    unit = found["unit"].casefold()
    if unit == "month":
        return When(calendar.months(at, count), "month")
    if unit == "year":
        return When(calendar.year(at, at.year + count), "year")
    vague = unit == "week" or (word.isalpha() and word in ("few", "several")) or " " in word
    return When(calendar.days(at, count * (7 if unit == "week" else 1)), "about" if vague else "day")


def _iso(found: re.Match[str], at: datetime, lean: int) -> When:
    return When(calendar.day(at, int(found["year"]), int(found["month"]), int(found["day"])), "day")


def _full(found: re.Match[str], at: datetime, lean: int) -> When:
    return When(calendar.day(at, int(found["year"]), _month(found), int(found["day"])), "day")


def _month_year(found: re.Match[str], at: datetime, lean: int) -> When:
    return When(calendar.day(at, int(found["year"]), _month(found), 1), "month")


def _year(found: re.Match[str], at: datetime, lean: int) -> When:
    return When(calendar.year(at, int(found["year"])), "year")


def _season_year(found: re.Match[str], at: datetime, lean: int) -> When:
    return When(calendar.season(at, SEASONS[found["unit"].casefold()], int(found["year"])), "season")


def _day_month(found: re.Match[str], at: datetime, lean: int) -> When:
    month, of_month = _month(found), int(found["day"])
    return When(calendar.day(at, calendar.nearest_year(at, month, lean, of_month), month, of_month), "day")


def _bare_month(found: re.Match[str], at: datetime, lean: int) -> When:
    month = _month(found)
    return When(calendar.day(at, calendar.nearest_year(at, month, lean), month, 1), "month")


def _rule(
    pattern: str, handler: Handler, *, relative: bool = False, partial: bool = False
) -> tuple[frozenset[str], re.Pattern[str], Handler, bool, bool]:
    named = {name for name, part in (("year", _YEAR), ("month", _MONTH)) if part in pattern}
    return frozenset(named or {"word"}), re.compile(pattern, re.IGNORECASE), handler, relative, partial


_SIDE = r"(?P<side>this\s+past|this\s+coming|last|next|this|past|coming)\s+"
_TURKISH = {0x130: "i", 0x131: "i"}  # what a pattern that ignores case takes for an i, and casefold does not
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
    _rule(_NOT_HABITUAL + _BEFORE + r"(?P<side>)" + _WEEKDAY + _PART + _END, _turned_weekday, relative=True),
    _rule(r"(?<!the )" + _BEFORE + r"(?P<side>this\s+past|this\s+coming|last|next|this)\s+"
          r"(?P<unit>weekend|week|month|year|spring|summer|autumn|fall|winter)(?:'s)?" + _END, _turned, relative=True),
    _rule(_BEFORE + r"(?P<side>last|next|this)\s+" + _MONTH + _END, _turned_month, relative=True),
    _rule(r"(?<![\w/.-])(?:(?P<prep>since|from|until)\s+)?(?:(?:about|around|roughly|almost|over|like|some|just)\s+)?(?P<forward>)(?P<ahead>)"
          + _COUNT + r"\s+" + _UNIT + r"\s+ago" + _END, _shifted, relative=True),
    _rule(r"(?<![\w/.-])(?P<prep>)(?P<ahead>)(?P<forward>in)\s+(?:(?:about|around)\s+)?" + _COUNT + r"\s+" + _UNIT + r"(?:'s?\s+time|\s+from\s+now)?" + _END,
          _shifted, relative=True),
    _rule(r"(?<![\w/.-])(?P<prep>)(?P<forward>)" + _COUNT + r"\s+" + _UNIT + r"\s+(?P<ahead>from\s+now)" + _END, _shifted, relative=True),
    _rule(_BEFORE + r"(?:the\s+)?" + _DAY + r"\s+(?:of\s+)?" + _MONTH + _END, _day_month, partial=True),
    _rule(_BEFORE + _MONTH + r"\s+(?:the\s+)?" + _DAY + _END, _day_month, partial=True),
    _rule(_ANY_PREP + r"(?:early\s+|late\s+|mid[ -])?" + _MONTH + _END, _bare_month, partial=True),
)  # fmt: skip


def read(text: str, at: datetime) -> Iterator[Reading]:
    """Every reading of every pattern: start, end, period, preposition, relative, partial."""
    text = text.translate(_TURKISH)
    folded = text.casefold()
    signs = {name for name, sign in _SIGNS.items() if sign.search(folded)}
    lean = None  # most of what has a sign has no date, and needs none
    for signed, pattern, handler, relative, partial in _RULES:
        for found in pattern.finditer(text) if signed <= signs else ():
            lean = _lean(text) if lean is None else lean
            groups = found.groupdict()
            month, prep = groups.get("month") or "", (groups.get("prep") or "").casefold()
            if month.rstrip(".") in _CAPITAL_ONLY and not (groups.get("year") or _alone(groups, prep)):
                continue
            try:
                when = handler(found, at, lean)
            except (ValueError, OverflowError):
                continue
            if when:
                yield found.start(), found.end(), when, prep, relative, partial


def _alone(groups: Mapping[str, str | None], prep: str) -> bool:
    """Whether a month stands without a day behind a word that months stand behind, and verbs do not."""
    return prep in _BEFORE_MONTHS and not groups.get("day")
