"""What a query asks for, which names and periods it contains, and how much of it a statement tells."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from muniment.memory.rules.dates import mentions, spans
from muniment.memory.rules.dates.spans import Interval
from muniment.memory.rules.language import calendar, english_words, stop_words, tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.retrieval.intents import (
    FAMILY,
    NO_INTENTS,
    PEOPLE,
    Intents,
    StatementIntents,
    find_phrases,
    load_tables,
    stem_words,
)
from muniment.memory.rules.retrieval.render import DEFAULT_VOCABULARY, count_tokens
from muniment.memory.rules.statements.parse_words import ROLES

Aliases = Mapping[str, Intents]
_LIGHT_WEIGHT = 0.3  # of a word that says little about what is asked
_INTENT_SHARE = 0.8  # of a part whose intent is told in another word
_CHARACTER_SHARE = 0.5  # of a Chinese part whose characters all occur
_UNDATED_FACTOR = 0.8  # for a statement without a date where the question asks when
_LONGEST_PIECE = 6  # characters of a Chinese piece
_GENERAL = load_lexicon("questions.en").get_words("general")
_OTHERS = PEOPLE | {"family"}  # a question for one of these intents is not about the user
# Phrases that fit any question, and ask for an intent only by themselves.
_VAGUE = load_lexicon("questions.zh").get_words("vague") | {"what do i do"}
_LIGHT_WORDS = frozenset(map(tokens.stem_word, load_lexicon("questions.en").get_words("light")))
_STOP_STEMS = tokens.STOP_WORDS | frozenset(map(tokens.stem_word, tokens.STOP_WORDS))
_FIRST_PERSON = lazy_compile(r"\b(?:i|my|me|mine|myself|we|our|ours|user)\b|我|用户", re.IGNORECASE)
# `We` may include relatives: a statement about them is an answer.
_FIRST_PERSON_SINGULAR = lazy_compile(r"\b(?:i|my|me|mine|myself|user)\b|我(?!们)|用户", re.IGNORECASE)
# Phrases in which the user is only the person that asks, or gets the answer.
_TO_ME = lazy_compile(
    r"(?:^|[.,;:!?]|\b(?:please|you|and|then|just|now)) *(?:tell|remind|show|give|help|let) me\b"
    r"|\b(?:i|we|(?:the )?user)(?: am| are| is| was| were|['’]m)? (?:also |just |still )?"
    r"(?:wonder(?:s|ed|ing)?|curious|ask(?:s|ed|ing)?)\b"
    r"|\b(?:i|we|(?:the )?user)(?:['’]d| would)? (?:like|love|wants?|needs?) (?:you )?to"
    r" (?:know|ask|hear|learn|see|find out|understand)\b"
    r"|\b(?:can|could|may|might) (?:i|we) (?:ask|know)\b"
    r"|\b(?:i|we)(?: do not| don['’]t| cannot| can['’]t)? (?:know|remember|recall|forget|forgot)"
    r"(?= (?:who|what|when|where|which|why|how|if|whether)\b)"
    r"|(?:告诉|提醒)(?:一下)?我|[给跟和对]我(?:讲|说|看|介绍)|帮我(?=[查找看问想回])|让我(?=[看想])"
    r"|(?:我|用户)[就也还]?(?:想|要)(?:知道|了解|请?问|请教)|(?:我|用户)(?:不知道|不记得|忘了|好奇|在问)",
    re.IGNORECASE,
)
_SENTENCE = lazy_compile(r"[^.!?:;\n。！？：；]+[?？]?")
_WHO = frozenset({"who", "whom", "whose"})
_WHO_ZH = load_lexicon("questions.zh").get_words("who")
_WHEN_ZH = load_lexicon("questions.zh").get_words("when")
_OPEN_ZH = load_lexicon("questions.zh").get_words("open") | _WHO_ZH | _WHEN_ZH | {"用户"}
_NAME = lazy_compile(rf"\b[{tokens.UPPER}]\w*")
_ANY_WORD = lazy_compile(r"[^\W\d_]{3,40}")
MIN_LETTERS = 5  # of a word that is corrected, and of the word it is read as
WORD = lazy_compile(r"[^\W\d_]{5,40}")
_MAX_ERRORS = 2  # words of a query that no vocabulary knows
_STOP_WORD = lazy_compile("|".join(sorted(word.capitalize() for word in tokens.STOP_WORDS if len(word) > 1)))
_SENTENCE_ENDS = frozenset(".!?:…。！？：\n\r")  # a capital behind one of them, and maybe a quote, proves no name
_INSIDE_A_NAME = frozenset(".:")
_QUOTES = frozenset("\"'“‘«")
_GREETING = lazy_compile(r"(?:\b(?:hi|hey|hello|dear|thanks|ok|okay)|\bthank you)\W{1,2}$", re.IGNORECASE)
_GREETING_LENGTH = 12
_FOR_A_NAME = lazy_compile(r"\W*(?:who|where|which|whose)\b|.*(?:谁|哪)", re.IGNORECASE)
# A question for several things: a plural by its ending behind `which`, or behind `what` before a verb of the plural.
_PLURAL = r"(?!(?:is|was|does|has|this|its|always)\b)[a-z]{2,}(?<![sui])s\b(?!['’])"
_FOR_A_LIST = lazy_compile(
    r"^\W*(?:please )?(?:list|name|enumerate)\b"
    r"|\b(?:list|name|tell|show|give)\b.{0,20}\b(?:all|every|each|everything)\b"
    r"|\bhow many\b.{1,30}\b(?:have|own|got|are there)\b"
    rf"|\bwhich(?: [a-z]+)? {_PLURAL}|\b(?:which|what) of (?:the|my|our)\b"
    rf"|\bwhat(?: [a-z]+)? {_PLURAL} (?:or|and|do|did|are|were|have|had|can|could|should|will|would|must|may|might)\b"
    rf"|\b(?:who|what|which) (?:are|were) (?:\w+ ){{0,2}}{_PLURAL}"
    r"|哪些|(?:多少|几)[个只位本名]|列出|所有",
    re.IGNORECASE,
)
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
_PRONOUNS = "i|we|you|he|she|it|they|one|there"
# `may` as a verb, which is no month: behind or before a pronoun.
_MAY = lazy_compile(
    rf"(?P<who>\b(?i:who|what|which|that|how|when|where|why|{_PRONOUNS})\s+)may\b(?!\s+\d)"
    rf"|(?<!\b[io]n )(?<!\bof )(?<!\bby )(?<!\b[ln][ae][sx]t )(?<!\bsince )(?<!\buntil )"
    rf"\b(?i:may)(?=\s+(?i:{_PRONOUNS}|not|be|have|also|never|still|ever)\b)"
)


@dataclass(frozen=True, slots=True)
class QuestionPart:
    """A word of a question, its intents, its weight, and the other words that ask for the same."""

    word: str
    intents: Intents
    weight: float
    is_chinese: bool = False
    synonyms: frozenset[str] = NO_INTENTS


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """What a question asks for."""

    terms: tuple[str, ...]  # its keywords, without `may` as a verb
    parts: tuple[QuestionPart, ...]
    weight: float
    asks_when: bool
    concerns_user: bool  # in the first or the third person, and not only as the person that asks
    about_user: bool  # and about nobody else
    asks_name: bool  # who, where or which
    asks_list: bool  # for several things: all, how many, or which of a plural
    intents: Intents  # of all parts
    family: Intents  # of the relatives and pets that it is about


class StatementMatch(NamedTuple):
    """How well a statement answers a question."""

    coverage: float  # share of what is asked, [0, 1]; 0.0 if only light words match
    is_certain: bool  # it is clear whom the statement is about
    about_other: bool  # it is about others than the question: not the user's family, or not the user


@lru_cache(maxsize=1_024)
def parse_question(text: str) -> ParsedQuestion:
    """Return what a question asks for, part by part.

    It does not concern the user if the question itself is about somebody else by name."""
    rest = _TO_ME.sub(" ", text)
    questions = [sentence for sentence in _SENTENCE.findall(rest) if sentence[-1] in "?？"]
    concerns_user = _FIRST_PERSON.search(rest) is not None and (
        not questions
        or any(_FIRST_PERSON.search(question) or not find_proper_nouns(question) for question in questions)
    )
    language = None if stop_words.ENGLISH_WORD.search(text) else stop_words.detect_language(text)
    ignored = stop_words.load_stop_stems(language) if language else _STOP_STEMS
    stems = stem_words(text)
    parts = _join_parts(_split_parts(stems, ignored))
    if all(part.weight < 1 for part in parts):
        parts = [replace(part, weight=1.0) for part in parts]
    terms = tokens.extract_terms(_MAY.sub(r"\g<who>", text))
    chinese = [run for run in stems if tokens.has_cjk(run)]
    asks_who = not _WHO.isdisjoint(stems) or any(word in run for run in chinese for word in _WHO_ZH)
    intents = NO_INTENTS.union(*(part.intents for part in parts))
    return ParsedQuestion(
        terms=tuple(term for term in terms if term not in ignored) or terms if language else terms,
        parts=tuple(parts),
        weight=sum(part.weight for part in parts),
        asks_when="when" in stems or any(word in run for run in chinese for word in _WHEN_ZH),
        concerns_user=concerns_user,
        about_user=concerns_user
        and _FIRST_PERSON_SINGULAR.search(rest) is not None
        and not asks_who
        and not intents & _OTHERS,
        asks_name=_FOR_A_NAME.match(text) is not None,
        asks_list=_FOR_A_LIST.search(text) is not None,
        intents=intents,
        family=intents & FAMILY,
    )


def _split_parts(stems: Sequence[str], ignored: Collection[str]) -> Iterator[QuestionPart]:
    for at, end, intents in find_phrases(stems, load_tables().asks):
        word = stems[at] if end == at + 1 else ""
        if tokens.has_cjk(word):
            yield from _split_chinese(word)
        elif intents:
            yield QuestionPart(word, intents, _weigh_part(" ".join(stems[at:end]), intents))
        elif word not in ignored:
            yield QuestionPart(word, NO_INTENTS, _LIGHT_WEIGHT if word in _LIGHT_WORDS else 1.0)


def _split_chinese(run: str) -> Iterator[QuestionPart]:
    """Yield the longest pieces of Chinese that ask for an intent, and what is left between them and the open words."""
    asks = load_tables().asks
    at, rest = 0, ""
    while at < len(run):
        sizes = range(min(_LONGEST_PIECE, len(run) - at), 0, -1)
        size = next((size for size in sizes if run[at : at + size] in asks or run[at : at + size] in _OPEN_ZH), 0)
        if not size:
            rest += run[at]
            at += 1
            continue
        yield from _keep_remainder(rest)
        rest, piece = "", run[at : at + size]
        if intents := asks.get(piece):
            yield QuestionPart(piece, intents, _weigh_part(piece, intents), is_chinese=True)
        at += size
    yield from _keep_remainder(rest)


def _keep_remainder(rest: str) -> Iterator[QuestionPart]:
    if rest:
        yield QuestionPart(rest, NO_INTENTS, 1.0 if len(rest) > 1 else _LIGHT_WEIGHT, is_chinese=True)


def _weigh_part(phrase: str, intents: Intents) -> float:
    return _LIGHT_WEIGHT if intents <= _GENERAL or phrase in _VAGUE else 1.0


def _join_parts(parts: Iterable[QuestionPart]) -> list[QuestionPart]:
    """Return the parts; those with a common word or intent become one part."""
    joined: list[QuestionPart] = []
    for part in parts:
        for n, other in enumerate(joined):
            if (other.intents & part.intents) - _GENERAL or other.word == part.word != "":
                synonyms = other.synonyms | part.synonyms | ({part.word} - {""})
                intents, weight = other.intents | part.intents, max(other.weight, part.weight)
                joined[n] = replace(other, intents=intents, weight=weight, synonyms=synonyms)
                break
        else:
            joined.append(part)
    return joined


def find_proper_nouns(query: str) -> frozenset[str]:
    """Return the terms of a query that are proper nouns: capitalised inside a sentence, and no month, weekday or
    greeted person. Empty where capitals prove nothing, as in a headline and in German."""
    if query.isupper() or (not stop_words.ENGLISH_WORD.search(query) and stop_words.detect_language(query) == "de"):
        return frozenset()
    terms: set[str] = set()
    for match in _NAME.finditer(query):
        word, at = match[0], match.start()
        # The dot or colon right before it is one of "J.K." and "CS:GO".
        before = (char for char in reversed(query[:at]) if char in _SENTENCE_ENDS or char.isalnum())
        if query[max(0, at - 1) : at] not in _INSIDE_A_NAME and next(before, "\n") in _SENTENCE_ENDS:
            continue
        if _STOP_WORD.fullmatch(word) and query[at - 1 : at] not in _QUOTES:
            return frozenset()
        is_common = (
            word.removesuffix("s") in _CALENDAR
            or _ABBREVIATION.fullmatch(word) is not None
            or tokens.fold_text(word) in _COMMON_CAPITALS
        )
        if not (is_common or _GREETING.search(query[max(0, at - _GREETING_LENGTH) : at])):
            terms.update(tokens.extract_terms(word))
    return frozenset(terms)


def find_unknown_words(query: str, missing: Collection[str], vocabulary: str = DEFAULT_VOCABULARY) -> list[str]:
    """Return the folded words of a query that are perhaps typing errors; `missing` are terms that no memory has.

    The `vocabulary` that counts tokens tells whether a word is spelled as others spell it: it has the words of many
    languages whole, and a misspelled one in pieces."""
    if tokens.has_cjk(query):
        return []
    words = {
        word
        for word in WORD.findall(query)
        if (terms := tokens.extract_terms(word)) and all(term in missing for term in terms)
    }
    if not words:
        return []
    # Words that are known to memories count, too: with more of them, the text is in a language that the vocabulary
    # does not know.
    unknown = [
        word
        for word in dict.fromkeys(_ANY_WORD.findall(query))
        if not any(count_tokens(f" {form}", vocabulary) == 1 for form in (word.lower(), word.title(), word.upper()))
    ]
    return [tokens.fold_text(word) for word in unknown if word in words] if len(unknown) <= _MAX_ERRORS else []


def find_periods(query: str, now: datetime) -> tuple[Interval, ...]:
    """Return the periods of the first dates of a query: start and end (exclusive), in order, without overlaps."""
    if not (tokens.find_date_signs(query) or tokens.has_cjk(query)):
        return ()
    years = range(now.year + _YEARS[0], now.year + _YEARS[1] + 1)
    joined = [
        *spans.find_english_spans(query, now, years, _MAX_DATES),
        *spans.find_chinese_spans(query, now, years, _MAX_DATES),
        *spans.find_recent_periods(query, now, _MAX_DATES),
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


def collect_aliases(statements: Iterable[StatementIntents]) -> Aliases:
    """Return the names of people in the statements, and the intents of each person."""
    aliases: dict[str, Intents] = {}
    for statement in statements:
        for name, intents in statement.named_people:
            aliases[name] = aliases.get(name, NO_INTENTS) | intents
    return aliases


def match_statement(
    question: ParsedQuestion, statement: StatementIntents, names: Aliases, speaker: str = ""
) -> StatementMatch:
    """Return how well a statement answers a question; `speaker` said it, in lower case, and it may be about them.

    One long loop without helpers, because it runs for every candidate of a search."""
    text, words, intents, by_alias = statement.text, statement.words, statement.intents, False
    for name, person in names.items():
        if name in text:
            intents = intents | person
            if text.startswith(name):
                by_alias = True
                # What Bo says about his daughter answers a question about her, not one about him.
                if person.isdisjoint(question.intents):
                    speaker = ""
    total, has_match, asks_by_name = 0.0, False, False
    for part in question.parts:
        word, share = part.word, 0.0
        if word in words or word == speaker != "" or (part.is_chinese and word in text):
            share = 1.0
        elif (
            not part.intents.isdisjoint(intents)
            or not part.synonyms.isdisjoint(words)
            or (word in names and not names[word].isdisjoint(intents))
        ):
            share = _INTENT_SHARE
        elif part.is_chinese and not part.intents:
            share = _CHARACTER_SHARE * sum(char in text for char in word) / len(word)
        total += part.weight * share
        has_match = has_match or (share > 0 and part.weight == 1)
        asks_by_name = asks_by_name or word in names
    if question.asks_when and not statement.has_date:
        total *= _UNDATED_FACTOR
    about_other = (
        statement.about_user and question.family.isdisjoint(intents)
        if question.family
        else question.about_user and (statement.about_other if statement.about_user else by_alias)
    )
    coverage = total / question.weight if has_match else 0.0
    return StatementMatch(coverage, statement.about_user or by_alias, about_other and not asks_by_name)
