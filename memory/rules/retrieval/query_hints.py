"""What a query says about its answer: whether it is a name, from which period, and which names it contains."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from muniment.memory.rules.dates import chinese_spans, english, mentions, recent_periods, spans
from muniment.memory.rules.dates.spans import Interval
from muniment.memory.rules.language import calendar, english_words, tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.statements.parse_words import ROLES

_NAME = lazy_compile(rf"\b[{tokens.UPPER}]\w*")
_STOP_WORD = lazy_compile("|".join(sorted(word.capitalize() for word in tokens.STOP_WORDS if len(word) > 1)))
_SENTENCE_ENDS = frozenset(".!?:…。！？：\n\r")  # a capital behind one of them, and maybe a quote, proves no name
_INSIDE_A_NAME = frozenset((".", ":", ""))  # of "J.K." and "CS:GO"
_QUOTES = frozenset("\"'“‘«")
_GREETING = lazy_compile(r"(?:\b(?:hi|hey|hello|dear|thanks|ok|okay)|\bthank you)\W{1,2}$", re.IGNORECASE)
_GREETING_LENGTH = 12
_FOR_A_NAME = lazy_compile(r"\W*(?:who|where|which|whose)\b|.*(?:谁|哪)", re.IGNORECASE)
_COMMON_CAPITALS = (
    english_words.LANGUAGES
    | english_words.RELATIONS.keys()
    | ROLES.keys()
    | load_lexicon("questions.en").get_words("common_capitals")
)
# An abbreviation. A longer word in capitals may be a name that somebody shouts.
_ABBREVIATION = lazy_compile(r"[A-Z]{2,5}s?|[A-Z]{2,3}\d{1,3}")
_DATES = (*calendar.MONTHS, "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_CALENDAR = frozenset((*_DATES, *(name[:3] for name in _DATES), "Sept", "Tues", "Thur", "Thurs"))
_YEARS = (-12, 2)  # a month without a year is that of each of these years, counted from now
_MAX_DATES = 12  # of a query: every memory is compared with every period
_WHO = "i|we|you|he|she|it|they|one|there"
# `may` as a verb, which is no month: behind or before a pronoun.
_MAY = lazy_compile(
    rf"(?P<who>\b(?i:who|what|which|that|how|when|where|why|{_WHO})\s+)may\b(?!\s+\d)"
    rf"|(?<!\b[io]n )(?<!\bof )(?<!\bby )(?<!\b[ln][ae][sx]t )(?<!\bsince )(?<!\buntil )"
    rf"\b(?i:may)(?=\s+(?i:{_WHO}|not|be|have|also|never|still|ever)\b)"
)


def is_name_question(query: str) -> bool:
    """Whether a query asks who, where or which."""
    return _FOR_A_NAME.match(query) is not None


def find_proper_nouns(query: str) -> frozenset[str]:
    """Return the terms of a query that are proper nouns: capitalised inside a sentence, and no month, weekday or
    greeted person. Empty where capitals prove nothing, as in a headline."""
    if query.isupper():
        return frozenset()
    terms: set[str] = set()
    for match in _NAME.finditer(query):
        word, at = match[0], match.start()
        if _is_sentence_start(query, at):
            continue
        if _STOP_WORD.fullmatch(word) and query[at - 1 : at] not in _QUOTES:
            return frozenset()
        if not (_is_common_word(word) or _GREETING.search(query[max(0, at - _GREETING_LENGTH) : at])):
            terms.update(tokens.extract_terms(word))
    return frozenset(terms)


def _is_common_word(word: str) -> bool:
    """Whether a capitalised word is of the calendar, an abbreviation, or another word that always has a capital."""
    return (
        word.removesuffix("s") in _CALENDAR
        or _ABBREVIATION.fullmatch(word) is not None
        or tokens.fold_text(word) in _COMMON_CAPITALS
    )


def _is_sentence_start(query: str, at: int) -> bool:
    if query[at - 1 : at] in _INSIDE_A_NAME:
        return at == 0
    before = (char for char in reversed(query[:at]) if char in _SENTENCE_ENDS or char.isalnum())
    return next(before, "\n") in _SENTENCE_ENDS


def extract_terms(query: str) -> tuple[str, ...]:
    """Return the keywords of a query, without `may` as a verb."""
    return tokens.extract_terms(_MAY.sub(r"\g<who>", query))


def find_periods(query: str, now: datetime) -> tuple[Interval, ...]:
    """Return the periods of the first dates of a query: start and end (exclusive), in order, without overlaps."""
    if not (english.has_date_sign(query) or tokens.has_cjk(query)):
        return ()
    years = range(now.year + _YEARS[0], now.year + _YEARS[1] + 1)
    joined = [
        *spans.find_english_spans(query, now, years, _MAX_DATES),
        *chinese_spans.find_chinese_spans(query, now, years, _MAX_DATES),
        *recent_periods.find_recent_periods(query, now, _MAX_DATES),
    ][:_MAX_DATES]
    single = {
        (mention.when, mention.partial, mention.preposition): mention
        for mention in mentions.find_mentions(query, now, question=query)
        if not any(span.start <= mention.start < span.end for span in joined)
    }
    periods = [period for span in joined for period in span.intervals]
    for mention in list(single.values())[: _MAX_DATES - len(joined)]:
        periods += _resolve_periods(mention, now, years)
    apart: list[Interval] = []
    for start, end in sorted(periods):
        if apart and start <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return tuple(apart)


def compute_nearness(moment: datetime, periods: tuple[Interval, ...], *, before: float, after: float) -> float:
    """Return 1.0 inside a period, and less with the distance from it, down to 0.0 at so many days before or after."""
    nearest = 0.0
    for start, end in periods:
        late, early = (moment - end) / timedelta(days=after), (start - moment) / timedelta(days=before)
        nearest = max(nearest, 1 - max(0.0, late, early))
    return nearest


def _resolve_periods(mention: mentions.Mention, now: datetime, years: Sequence[int]) -> list[Interval]:
    """Return the periods of a date. `since May` is the time from the last May until now."""
    periods = list(_list_periods(mention, years))
    begun = [(start, max(end, now)) for start, end in periods if start <= now]
    return begun[-1:] if begun and mention.preposition == "since" else periods


def _list_periods(mention: mentions.Mention, years: Sequence[int]) -> Iterator[Interval]:
    when = mention.when
    for year in years if mention.partial else (when.start.year,):
        try:
            yield when.get_bounds(year) if mention.partial else (when.start, when.end)
        except (ValueError, OverflowError):  # 29 February, the end of the calendar
            continue
