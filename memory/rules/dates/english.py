"""English date mentions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from itertools import islice

from muniment.memory.rules.dates import english_periods as periods, tense
from muniment.memory.rules.dates.english_periods import COUNT, PART_OF
from muniment.memory.rules.dates.tense import ClauseTenses
from muniment.memory.rules.language import holidays
from muniment.memory.rules.language.calendar import ORDINAL, DatePeriod
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import CACHED_CHARS, clear_on_erasure

DateMatch = tuple[int, int, DatePeriod, str, bool, bool]
Handler = Callable[[re.Match[str], datetime, int], DatePeriod | None]


_MONTH = (
    r"(?P<month>january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)\b\.?)"
)
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_WEEKDAY = r"(?P<weekday>" + "|".join(periods.WEEKDAYS) + r")"
_PART = r"(?:\s+(?P<part>morning|afternoon|evening|night))?"
_UNIT = r"(?P<unit>day|week|fortnight|month|year)s?"
_SEASON = r"(?P<unit>spring|summer|autumn|fall|winter)"
_HOLIDAY = (
    r"(?<!orthodox )(?<!jewish )(?<!persian )(?<!islamic )(?<!chinese )(?<!lunar )(?P<feast>"
    + holidays.ENGLISH_NAMES
    + ")"
)
_BEFORE = (
    r"(?<![\w/.-])(?:(?P<prep>on|in|at|by|since|until|till|from|for|before|after|during|of|around|about|to"
    r"|starting|through)\s+)?"
)
_ANY_PREP = (
    r"(?<![\w/.-])(?P<prep>in|since|until|till|by|from|for|before|after|during|of|around|about|to|through|starting)\s+"
)
_END = r"(?![\w-])"
_NOT_HABITUAL = r"(?<!every )(?<!each )(?<!most )"
_NOT_HOLIDAY = r"(?<!easter )(?<!(?-i:Good ))"
_NOT_AMOUNT = (
    r"(?!,?\d|\.\d|\s*(?:%|\$|€|k\b|km|m\b|meters|metres|miles|people|dollars|euros|pounds|steps|words"
    r"|times|calories|users|hours|days|kg|lines))"
)
# May, March and short names are also other words. There a year or a preposition decides.
_CAPITAL_ONLY = frozenset({"may", "march", "mar", "jan", "dec", "sep"})
_BEFORE_MONTHS = frozenset({"in", "since", "until", "till"})


def _build_rule(
    pattern: str, handler: Handler, *, relative: bool = False, partial: bool = False, bare: bool = False, sign: str = ""
) -> tuple[frozenset[str], re.Pattern[str], Handler, bool, bool, bool]:
    """A rule with the signs that its texts have. A `bare` date counts in a statement only for one event."""
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
_BEFORE_LAST = r"\s+(?P<side>before\s+last)" + _END + tense.ALONE
_BEFORE_HOLIDAY = _BEFORE.replace("|through)", "|through|over)")
_MAX_MATCHES = 200  # of one pattern in one text
_NO_PREP = r"(?<![\w/.-])(?P<prep>)"
_ON = r"(?<![\w/.-])(?P<prep>on|by|until|till|since|from|before|after)\s+"
_DURING = r"(?<![\w/.-])(?P<prep>in|during|since|until|till|by|from|before|after|of|around|through|throughout)\s+"
_LONG_UNIT = r"(?P<unit>weekend|week|month|year|spring|summer|autumn|fall|winter)"
_RULES = (
    _build_rule(_BEFORE + r"(?P<year>(?:19|20)\d\d)-(?P<month>[01]\d)-(?P<day>[0-3]\d)" + _END, periods.resolve_iso),
    _build_rule(_BEFORE + r"(?:the\s+)?" + _DAY + r"\s+(?:of\s+)?" + _MONTH + r",?\s+" + _YEAR + _END,
        periods.resolve_full),
    _build_rule(_BEFORE + _MONTH + r"\s+(?:the\s+)?" + _DAY + r",?\s+" + _YEAR + _END, periods.resolve_full),
    _build_rule(_BEFORE + _MONTH + r",?\s+(?:of\s+)?" + _YEAR + _NOT_AMOUNT + _END, periods.resolve_month_year),
    _build_rule(_BEFORE + r"(?:the\s+)?" + _SEASON + r"\s+(?:of\s+)?" + _YEAR + _END, periods.resolve_season_year),
    _build_rule(_ANY_PREP + r"(?:the\s+year\s+)?" + _YEAR + _NOT_AMOUNT + _END, periods.resolve_year),
    _build_rule(_BEFORE
        + r"(?P<near>the\s+day\s+before\s+yesterday|the\s+day\s+after\s+tomorrow|yesterday|tomorrow|tonight"
        r"|last\s+night|this\s+(?:morning|afternoon|evening)|today)"
        + _PART + r"(?:'s)?" + _END, periods.resolve_near, relative=True),
    _build_rule(_BEFORE + r"(?:the\s+)?" + _SIDE + _WEEKDAY + _PART + r"(?:'s)?" + _END,
        periods.resolve_relative_weekday, relative=True),
    _build_rule(_NOT_HABITUAL + _NOT_HOLIDAY + _BEFORE + r"(?P<side>)" + _WEEKDAY + _PART + _END,
        periods.resolve_relative_weekday, relative=True),
    _build_rule(_NOT_HABITUAL + _NOT_HOLIDAY + _BEFORE + _WEEKDAY + r"\s+week" + _END + tense.ALONE,
        periods.resolve_weekday_week, relative=True, sign="week"),
    _build_rule(_BEFORE + r"(?:the\s+)?" + _LONG_UNIT + _BEFORE_LAST, periods.resolve_relative_unit, relative=True,
        sign="before last"),
    _build_rule(r"(?<!the )" + _BEFORE + r"(?P<side>this\s+past|this\s+coming|last|next|this)\s+" r"" + _LONG_UNIT
        + r"(?:'s)?" + _END, periods.resolve_relative_unit, relative=True),
    _build_rule(_BEFORE + r"(?P<side>last|next|this)\s+" + _MONTH + _END, periods.resolve_relative_month,
        relative=True),
    _build_rule(r"(?<![\w/.-])(?:(?P<prep>since|from|until)\s+)?(?:(?:about|around|roughly|almost|over|like|some|just)\s+)?(?P<forward>)(?P<ahead>)"
        + COUNT + r"\s+" + _UNIT + r"\s+ago" + _END, periods.resolve_shift, relative=True),
    _build_rule(_NO_PREP + r"(?P<ahead>)(?P<forward>in)\s+(?:(?:about|around)\s+)?" + COUNT + r"\s+" + _UNIT
        + r"(?:'s?\s+time|\s+from\s+now)?" + _END, periods.resolve_shift, relative=True),
    _build_rule(_NO_PREP + r"(?P<forward>)" + COUNT + r"\s+" + _UNIT + r"\s+(?P<ahead>from\s+now)" + _END,
        periods.resolve_shift, relative=True),
    _build_rule(_BEFORE + r"(?:the\s+)?" + _DAY + r"\s+(?:of\s+)?" + _MONTH + _END, periods.resolve_day_month,
        partial=True),
    _build_rule(_BEFORE + _MONTH + r"\s+(?:the\s+)?" + _DAY + _END, periods.resolve_day_month, partial=True),
    _build_rule(_ANY_PREP + _MONTH + _END, periods.resolve_bare_month, partial=True),
    _build_rule(_BEFORE + r"(?P<day>\d{1,2})(?P<mark>/)(?P<other>\d{1,2})/" + _YEAR + r"(?![\w/-])",
        periods.resolve_numeric, sign="numeric"),
    _build_rule(r"(?<![\w/.-])(?P<prep>on|since|until|till|by|from|before|after)\s+"
        r"(?P<day>[0-3]?\d)(?P<mark>\.)(?P<other>[01]?\d)\."
        + _YEAR + r"(?!\.?\d)" + _END, periods.resolve_numeric, sign="numeric"),
    _build_rule(_BEFORE
        + r"(?:the\s+)?(?P<quarter>q[1-4]|(?:first|second|third|fourth|[1-4](?:st|nd|rd|th))(?=\s+quarter))"
        r"(?:\s+quarter)?(?:\s+of|,)?[\s/-]\s*"
        + _YEAR + _END, periods.resolve_quarter, sign="quarter"),
    _build_rule(_BEFORE + _YEAR + r"[\s-]?(?P<quarter>q[1-4])" + _END, periods.resolve_quarter, sign="quarter"),
    _build_rule(_DURING + r"(?:the\s+)?" + periods.DECADE_PART + r"(?P<decade>(?:19|20)\d0)['’]?s" + _END,
        periods.resolve_decade, sign="name"),
    _build_rule(_DURING + r"the\s+" + periods.DECADE_PART + r"(?:['’]?(?P<decade>[3-9]0)['’]?s|(?P<tens>"
        + "|".join(periods.TENS) + "))" + _END, periods.resolve_decade, sign="name"),
    _build_rule(_NO_PREP + r"the\s+" + periods.DECADE_PART + r"(?P<decade>(?:19|20)\d0)['’]?s" + _END,
        periods.resolve_decade, sign="name"),
    _build_rule(_BEFORE_HOLIDAY + _HOLIDAY + _PART + r",?\s+(?:of\s+|in\s+)?" + _YEAR + _NOT_AMOUNT + _END,
        periods.resolve_holiday_year),
    _build_rule(_BEFORE_HOLIDAY + _HOLIDAY + _PART + r"\s+(?:of\s+)?(?P<side>last|this|next)\s+year" + _END,
        periods.resolve_holiday_of_year, relative=True),
    _build_rule(_BEFORE_HOLIDAY + r"(?:the\s+)?" + _HOLIDAY + r"(?P<part>)" + _BEFORE_LAST,
        periods.resolve_relative_holiday, relative=True),
    _build_rule(r"(?<!the )(?<!a )" + _BEFORE_HOLIDAY + _SIDE + _HOLIDAY + _PART + _END + r"(?:(?=\s+(?-i:[A-Z]))|"
        + tense.ALONE + ")", periods.resolve_relative_holiday, relative=True),
    _build_rule(r"(?<![\w/.-])(?P<prep>on|at|by|since|until|till|for|from|before|after|during|around|over)\s+"
        + _HOLIDAY + _PART + _END, periods.resolve_bare_holiday, bare=True),
    _build_rule(_NO_PREP + r"(?<!a )(?P<feast>easter\s+sunday|easter\s+monday|(?-i:Good\s+Friday))" + _PART + _END,
        periods.resolve_bare_holiday, bare=True),
    _build_rule(r"(?<![\w/.-])(?P<prep>in|during|over|since|until|till)\s+(?:the\s+)?(?:early\s+|late\s+|mid[ -])?"
        + _SEASON + r"(?!\s+of\b)" + _END + tense.ALONE, periods.resolve_bare_season, bare=True,
        sign="season"),
    _build_rule(_BEFORE + PART_OF + _MONTH + r",?\s+(?:of\s+)?" + _YEAR + _NOT_AMOUNT + _END,
        periods.resolve_month_part),
    _build_rule(_BEFORE + PART_OF + _MONTH + _END, periods.resolve_month_part, partial=True),
    _build_rule(_BEFORE + PART_OF + _YEAR + _NOT_AMOUNT + _END, periods.resolve_year_part),
    _build_rule(_BEFORE + PART_OF + r"(?P<side>last|this|next)\s+(?P<unit>month|year)" + _END,
        periods.resolve_relative_part, relative=True),
    _build_rule(r"(?<!the )" + _BEFORE + r"(?P<side>last|this|next)\s+(?P<unit>quarter)" + _END + tense.ALONE,
        periods.resolve_relative_unit, relative=True, sign="turned quarter"),
    _build_rule(_ANY_PREP + r"(?P<quarter>q[1-4])" + _END, periods.resolve_bare_quarter, partial=True, sign="name"),
    _build_rule(_BEFORE + r"the\s+(?P<day>" + ORDINAL + r")\s+of\s+" + _MONTH + r",?\s+" + _YEAR + _END,
        periods.resolve_full),
    _build_rule(_BEFORE + r"the\s+(?P<day>" + ORDINAL + r")\s+of\s+" + _MONTH + _END, periods.resolve_day_month,
        partial=True),
    _build_rule(_ON + _MONTH + r"\s+(?:the\s+)?(?P<day>" + ORDINAL + ")" + _END, periods.resolve_day_month,
        partial=True),
    _build_rule(_ON + r"the\s+(?!first\b|second\b|third\b)(?P<day>[0-3]?\d(?:st|nd|rd|th)|" + ORDINAL + ")" + _END
        + tense.ALONE, periods.resolve_ordinal, relative=True, bare=True, sign="name"),
    _build_rule(_NO_PREP + COUNT + r"\s+" + _SEASON + r"s?\s+ago" + _END, periods.resolve_seasons_ago, relative=True,
        sign="season"),
    _build_rule(_NO_PREP + r"(?P<part>)" + COUNT + r"\s+" + _HOLIDAY + r"(?:e?s)?\s+ago" + _END,
        periods.resolve_holidays_ago, relative=True),
    _build_rule(r"(?<![\w/.-])(?P<prep>in|during|since|from|of|throughout)\s+the\s+" + periods.DECADE_PART
        + r"(?:twenties|['’]?20s)" + _END, periods.resolve_twenties, bare=True, sign="name"),
)  # fmt: skip


@clear_on_erasure
@lru_cache(maxsize=64)
def _search_rules(text: str, signs: frozenset[str]) -> tuple[tuple[re.Match[str], Handler, bool, bool, bool], ...]:
    """Every match of the rules whose signs are all there. Cached, because merging reads a statement at the time of each
    memory that may say it, too."""
    return tuple(
        (match, handler, relative, partial, bare)
        for needed, pattern, handler, relative, partial, bare in _RULES
        if needed <= signs
        for match in islice(pattern.finditer(text), _MAX_MATCHES)
    )


def match_dates(text: str, at: datetime, signs: frozenset[str], *, question: str = "") -> Iterator[DateMatch]:
    """Every match of every pattern whose signs are there: start, end, period, preposition, relative, partial.

    With a `question`, which the text is part of, a date may be one of each year."""
    infer = tense.infer_question_direction if question else tense.infer_date_direction
    lean = tense.infer_direction(question) if question else 0
    tenses = ClauseTenses(text, tense.TENSE_WORDS)
    search = _search_rules if len(text) <= CACHED_CHARS else _search_rules.__wrapped__
    for match, handler, relative, partial, bare in search(text, signs):
        groups = match.groupdict()
        month, prep = groups.get("month") or "", (groups.get("prep") or "").casefold()
        if month.rstrip(".") in _CAPITAL_ONLY and not (groups.get("year") or _is_lone_month(groups, prep)):
            continue
        if bare and not (question and relative):
            own = infer(text, *match.span(), prep)
        else:
            own = lean or tense.infer_mention_direction(tenses, *match.span(), prep, partial=partial)
        try:
            period = handler(match, at, own) if own else None
        except (ValueError, OverflowError):
            continue
        if period:
            yield match.start(), match.end(), period, prep, relative, partial and period.grain != "decade"


def _is_lone_month(groups: Mapping[str, str | None], prep: str) -> bool:
    """Whether a month without a day follows a word that months follow, and verbs do not."""
    return prep in _BEFORE_MONTHS and not groups.get("day")
