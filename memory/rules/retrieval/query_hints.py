"""What a query says about what it wants: whose, from when, and whom or what it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from muniment.memory.rules.dates import chinese_spans, mentions, recent_periods, spans
from muniment.memory.rules.dates.spans import Interval
from muniment.memory.rules.language import calendar, english_words, tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.normalize import parse_vocabulary
from muniment.memory.rules.statements.parse_words import ROLES

_NAME = lazy_compile(rf"\b[{tokens.UPPER}]\w*")
_LITTLE = lazy_compile("|".join(sorted(word.capitalize() for word in tokens.STOP_WORDS if len(word) > 1)))
_ENDS = frozenset(".!?:…。！？：\n\r")  # behind them, quotes and brackets between or not, a capital says nothing
_WITHIN = frozenset((".", ":", ""))  # of "J.K." and "CS:GO"
_QUOTES = frozenset("\"'“‘«")
_GREETING = lazy_compile(r"(?:\b(?:hi|hey|hello|dear|thanks|ok|okay)|\bthank you)\W{1,2}$", re.IGNORECASE)
_GREETINGS_LENGTH = 12
_FOR_A_NAME = lazy_compile(r"\W*(?:who|where|which|whose)\b|.*(?:谁|哪)", re.IGNORECASE)
# What has a capital and is nobody's name: where somebody is from, what is spoken there, who in a family, a title, a feast.
_COMMON = (
    english_words.LANGUAGES
    | english_words.RELATIONS.keys()
    | ROLES.keys()
    | parse_vocabulary(
        """
        european asian african american arab arabian jewish muslim islamic catholic protestant buddhist hindu orthodox afghan
        mister mr mrs ms miss dr doctor prof professor sir madam saint st mommy mummy daddy mama papa nan nana
        phd msc bsc mba md ceo internet web wifi wi-fi covid covid-19 bible quran earth god
        christmas xmas easter thanksgiving hallowe'en halloween diwali ramadan eid hanukkah passover lent carnival
        spring summer autumn winter fall
        """
    )
)
# An abbreviation. A word in capitals that is longer may be a name that somebody shouts.
_SHORT = lazy_compile(r"[A-Z]{2,5}s?|[A-Z]{2,3}\d{1,3}")
_DATES = (*calendar.MONTHS, "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_CALENDAR = frozenset((*_DATES, *(name[:3] for name in _DATES), "Sept", "Tues", "Thur", "Thurs"))
_YEARS = (-12, 2)  # a month without a year is that of each of these years, counted from now
_MAX_DATES = 12  # of a query: every memory is held against every period
_WHO = "i|we|you|he|she|it|they|one|there"
# In the keywords the verb is the month: what is asked for is neither behind who may, nor before who may.
_VERB = lazy_compile(
    rf"(?P<who>\b(?i:who|what|which|that|how|when|where|why|{_WHO})\s+)may\b(?!\s+\d)"
    rf"|(?<!\b[io]n )(?<!\bof )(?<!\bby )(?<!\b[ln][ae][sx]t )(?<!\bsince )(?<!\buntil )"
    rf"\b(?i:may)(?=\s+(?i:{_WHO}|not|be|have|also|never|still|ever)\b)"
)


def is_name_question(query: str) -> bool:
    """Whether a query wants to know who, where or which."""
    return _FOR_A_NAME.match(query) is not None


def find_proper_nouns(query: str) -> frozenset[str]:
    """The terms of a query that are proper nouns: capitalised, not at the start of a sentence, no month or weekday, and
    not who is greeted. None where capitals tell nothing, as in a headline."""
    found = [match for match in _NAME.finditer(query) if not _is_sentence_start(query, match.start())]
    if query.isupper() or any(_LITTLE.fullmatch(match[0]) and not _is_quoted(query, match.start()) for match in found):
        return frozenset()
    meant = (match[0] for match in found if not _is_common_word(match[0]) and not _is_greeted(query, match.start()))
    return frozenset(term for one in meant for term in tokens.extract_terms(one))


def _is_common_word(word: str) -> bool:
    """Whether a word has a capital for what it is, and not for whom it names."""
    return word.removesuffix("s") in _CALENDAR or bool(_SHORT.fullmatch(word)) or tokens.fold_text(word) in _COMMON


def _is_sentence_start(query: str, at: int) -> bool:
    """Whether a sentence, or a line, starts there."""
    if query[at - 1 : at] in _WITHIN:
        return at == 0
    return next((char for char in reversed(query[:at]) if char in _ENDS or char.isalnum()), "\n") in _ENDS


def _is_quoted(query: str, at: int) -> bool:
    return query[at - 1 : at] in _QUOTES


def _is_greeted(query: str, at: int) -> bool:
    return _GREETING.search(query[max(0, at - _GREETINGS_LENGTH) : at]) is not None


def extract_terms(query: str) -> tuple[str, ...]:
    """The keywords of a query: what it may ask is not looked for in May."""
    return tokens.extract_terms(_VERB.sub(r"\g<who>", query))


def find_periods(query: str, now: datetime) -> tuple[Interval, ...]:
    """The periods that the first dates of a query name, each from its first moment to before its end, in the order of time
    and apart from one another."""
    joined = [
        *spans.find_english_spans(query, now, _list_years(now), _MAX_DATES),
        *chinese_spans.find_chinese_spans(query, now, _list_years(now), _MAX_DATES),
        *recent_periods.find_recent_periods(query, now, _MAX_DATES),
    ][:_MAX_DATES]
    named = {
        (mention.when, mention.partial, mention.preposition): mention
        for mention in mentions.find_mentions(query, now, question=query)
        if not any(span.start <= mention.start < span.end for span in joined)
    }
    found = [period for span in joined for period in span.intervals]
    found += [
        period for one in list(named.values())[: _MAX_DATES - len(joined)] for period in _resolve_periods(one, now)
    ]
    apart: list[Interval] = []
    for start, end in sorted(found):
        if apart and start <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return tuple(apart)


def compute_nearness(moment: datetime, periods: tuple[Interval, ...], *, before: float, after: float) -> float:
    """1 within one of the periods, and less the further from it, down to 0 at so many days before or after it."""
    return max((_compute_closeness(moment, start, end, before, after) for start, end in periods), default=0.0)


def _compute_closeness(moment: datetime, start: datetime, end: datetime, before: float, after: float) -> float:
    late, early = (moment - end) / timedelta(days=after), (start - moment) / timedelta(days=before)
    return max(0.0, 1 - max(0.0, late, early))


def _resolve_periods(mention: mentions.Mention, now: datetime) -> Iterator[Interval]:
    named = list(_list_named_periods(mention, now))
    begun = [(start, max(end, now)) for start, end in named if start <= now]
    yield from begun[-1:] if begun and mention.preposition == "since" else named


def _list_named_periods(mention: mentions.Mention, now: datetime) -> Iterator[Interval]:
    when = mention.when
    for year in _list_years(now) if mention.partial else (when.start.year,):
        try:
            yield when.get_bounds(year) if mention.partial else (when.start, when.end)
        except (ValueError, OverflowError):  # 29 February, the end of the calendar
            continue


def _list_years(now: datetime) -> range:
    return range(now.year + _YEARS[0], now.year + _YEARS[1] + 1)
