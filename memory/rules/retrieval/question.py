"""How much of what a question asks for a statement tells, read closely."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.normalize import parse_vocabulary
from muniment.memory.rules.retrieval import (
    chinese_intents,
    intents as aspects,
    query_hints,
)
from muniment.memory.rules.retrieval.intents import FAMILY, NO_INTENTS, PEOPLE, Intents, StatementIntents

Aliases = Mapping[str, Intents]
_LIGHT_WEIGHT = 0.3  # of a word that says little of what is wanted
_INTENT_SHARE = 0.8  # of what another word tells
_CHARACTER_SHARE = 0.5
_UNDATED_FACTOR = 0.8  # who asks when is told a time
_LONGEST = 6
MAX_HINTS = 128  # where each memory's words are held against all of them
# What is asked together with something else, and says little alone.
_GENERAL = parse_vocabulary("like dislike plan habit event name family brand goal task weekday evening")
# Who asks for one of them does not ask of themselves.
_OTHERS = PEOPLE | {"family"}
# What may be asked of anything, and asks for an aspect only by itself.
_VAGUE = frozenset(("what do i do", *chinese_intents.VAGUE.split()))
_LITTLE = frozenset(map(tokens.stem_word, parse_vocabulary(
    "know tell told remember remind need want get got go goes went come use using make made give take thing things kind"
    " kinds sort type types stuff usually often normally currently ever still again also already really always never please"
    " let us keep kept look many much long far particular current today nowadays days moment time one ones anything something"
    " everything someone anybody say said call happen plan right supposed able main whole else put set first next last new"
    " exactly favourite favorite day bring brought part"
)))  # fmt: skip
_STOP = tokens.STOP_WORDS | frozenset(map(tokens.stem_word, tokens.STOP_WORDS))
_FIRST_PERSON = lazy_compile(r"\b(?:i|my|me|mine|myself|we|our|ours|user)\b|我|用户", re.IGNORECASE)
# "We" may be those of theirs too: what is told of them is an answer.
_FIRST_PERSON_SINGULAR = lazy_compile(r"\b(?:i|my|me|mine|myself|user)\b|我(?!们)|用户", re.IGNORECASE)
# Who is told, and who wants to know, says nothing of what is asked.
_TO_ME = lazy_compile(
    r"(?:^|[.,;:!?]|\b(?:please|you|and|then|just|now)) *(?:tell|remind|show|give|help|let) me\b"
    r"|\b(?:i|we|(?:the )?user)(?: am| are| is| was| were|['’]m)? (?:also |just |still )?(?:wonder(?:s|ed|ing)?|curious|ask(?:s|ed|ing)?)\b"
    r"|\b(?:i|we|(?:the )?user)(?:['’]d| would)? (?:like|love|wants?|needs?) (?:you )?to (?:know|ask|hear|learn|see|find out|understand)\b"
    r"|\b(?:can|could|may|might) (?:i|we) (?:ask|know)\b"
    r"|\b(?:i|we)(?: do not| don['’]t| cannot| can['’]t)? (?:know|remember|recall|forget|forgot)(?= (?:who|what|when|where|which|why|how|if|whether)\b)"
    r"|(?:告诉|提醒)(?:一下)?我|[给跟和对]我(?:讲|说|看|介绍)|帮我(?=[查找看问想回])|让我(?=[看想])"
    r"|(?:我|用户)[就也还]?(?:想|要)(?:知道|了解|请?问|请教)|(?:我|用户)(?:不知道|不记得|忘了|好奇|在问)",
    re.IGNORECASE,
)
_SENTENCE = lazy_compile(r"[^.!?:;\n。！？：；]+[?？]?")
_WHO = frozenset({"who", "whom", "whose"})
_WHO_ZH, _WHEN_ZH = chinese_intents.WHO.split(), chinese_intents.WHEN.split()
_OPEN_ZH = frozenset(("用户", *_WHO_ZH, *_WHEN_ZH, *chinese_intents.OPEN.split()))


@dataclass(frozen=True, slots=True)
class QuestionPart:
    """A word of a question, with the aspects that tell it, and the other words that ask for the same."""

    word: str
    intents: Intents
    weight: float
    is_chinese: bool = False
    synonyms: frozenset[str] = NO_INTENTS


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """What a question asks for."""

    parts: tuple[QuestionPart, ...]
    weight: float
    asks_when: bool
    about_user: bool  # what is the asker's own, and nobody else's
    intents: Intents  # of all parts
    family: Intents  # whom of theirs it is about


class StatementMatch(NamedTuple):
    """A statement as a question sees it."""

    coverage: float  # how much of what is asked, [0, 1]; none where only of what says little
    is_certain: bool  # that it is clear of whom it is
    about_other: bool  # it is of others than the question: not of the asker's family, or not of themselves


@lru_cache(maxsize=1_024)
def is_about_user(text: str) -> bool:
    """Whether somebody asks about themselves, or is asked about as the user; not where they only say who it is that asks, or ask
    for somebody by name after having talked of themselves."""
    said = _TO_ME.sub(" ", text)
    if _FIRST_PERSON.search(said) is None:
        return False
    asking = [one for one in _SENTENCE.findall(said) if one[-1] in "?？"]
    return not asking or any(_FIRST_PERSON.search(one) or not query_hints.find_proper_nouns(one) for one in asking)


@lru_cache(maxsize=1_024)
def parse_question(text: str) -> ParsedQuestion:
    """What a question asks for, word by word."""
    stemmed = aspects.stem_words(text)
    parts = _join_parts(_split_parts(stemmed))
    if all(part.weight < 1 for part in parts):
        parts = [replace(part, weight=1.0) for part in parts]
    chinese = [run for run in stemmed if tokens.has_cjk(run)]
    who = not _WHO.isdisjoint(stemmed) or any(one in run for run in chinese for one in _WHO_ZH)
    found = NO_INTENTS.union(*(part.intents for part in parts))
    return ParsedQuestion(
        parts=tuple(parts),
        weight=sum(part.weight for part in parts),
        asks_when="when" in stemmed or any(one in run for run in chinese for one in _WHEN_ZH),
        about_user=is_about_user(text)
        and _FIRST_PERSON_SINGULAR.search(_TO_ME.sub(" ", text)) is not None
        and not who
        and not found & _OTHERS,
        intents=found,
        family=found & FAMILY,
    )


def find_hint_dimensions(text: str, limit: int) -> frozenset[int]:
    """The dimensions of words that tell what a question asks for, at most so many."""
    return aspects.find_dimensions(parse_question(text).intents, limit)


def _split_parts(stems: Sequence[str]) -> Iterator[QuestionPart]:
    for at, end, found in aspects.find_phrases(stems, aspects.load_tables().asks):
        word = stems[at] if end == at + 1 else ""
        if tokens.has_cjk(word):
            yield from _split_chinese(word)
        elif found:
            yield QuestionPart(word, found, _weigh_part(" ".join(stems[at:end]), found))
        elif word not in _STOP:
            yield QuestionPart(word, NO_INTENTS, _LIGHT_WEIGHT if word in _LITTLE else 1.0)


def _split_chinese(run: str) -> Iterator[QuestionPart]:
    """The pieces of Chinese that ask for an aspect, the longest first, and what is left between them and the little words."""
    asks = aspects.load_tables().asks
    at, rest = 0, ""
    while at < len(run):
        sizes = range(min(_LONGEST, len(run) - at), 0, -1)
        size = next((size for size in sizes if run[at : at + size] in asks or run[at : at + size] in _OPEN_ZH), 0)
        if not size:
            rest += run[at]
            at += 1
            continue
        yield from _keep_remainder(rest)
        rest, piece = "", run[at : at + size]
        if found := asks.get(piece):
            yield QuestionPart(piece, found, _weigh_part(piece, found), is_chinese=True)
        at += size
    yield from _keep_remainder(rest)


def _keep_remainder(rest: str) -> Iterator[QuestionPart]:
    if rest:
        yield QuestionPart(rest, NO_INTENTS, 1.0 if len(rest) > 1 else _LIGHT_WEIGHT, is_chinese=True)


def _weigh_part(phrase: str, intents: Intents) -> float:
    return _LIGHT_WEIGHT if intents <= _GENERAL or phrase in _VAGUE else 1.0


def _join_parts(parts: Iterable[QuestionPart]) -> list[QuestionPart]:
    """The parts, those that ask for the same thing as one."""
    done: list[QuestionPart] = []
    for part in parts:
        twin = next(
            (n for n, one in enumerate(done) if (one.intents & part.intents) - _GENERAL or one.word == part.word != ""),
            None,
        )
        if twin is None:
            done.append(part)
            continue
        one = done[twin]
        near = one.synonyms | part.synonyms | ({part.word} - {""})
        done[twin] = QuestionPart(
            one.word, one.intents | part.intents, max(one.weight, part.weight), one.is_chinese, near
        )
    return done


def collect_aliases(statements: Iterable[StatementIntents]) -> Aliases:
    """Who is called what, as any of the statements tells it."""
    found: dict[str, Intents] = {}
    for one in statements:
        for name, whose in one.named_people:
            found[name] = found.get(name, NO_INTENTS) | whose
    return found


def match_statement(
    question: ParsedQuestion, statement: StatementIntents, names: Aliases, speaker: str = ""
) -> StatementMatch:
    """A statement as the question sees it, with the lower case of who said it, whom it is of. It is done for every candidate
    of a search, hence so plainly."""
    text, said, tells, of_called = statement.text, statement.words, statement.intents, False
    for name, whose in names.items():
        if name in text:
            tells = tells | whose
            if text.startswith(name):
                of_called = True
                # What Bo says of his daughter answers who asks about his daughter, not who asks about him.
                if whose.isdisjoint(question.intents):
                    speaker = ""
    reached, told_any, of_named = 0.0, False, False
    for part in question.parts:
        word = part.word
        if word in said or word == speaker != "" or (part.is_chinese and word in text):
            far = 1.0
        elif (
            not part.intents.isdisjoint(tells)
            or not part.synonyms.isdisjoint(said)
            or (word in names and not names[word].isdisjoint(tells))
        ):
            far = _INTENT_SHARE
        else:
            far = (
                _CHARACTER_SHARE * sum(char in text for char in word) / len(word)
                if part.is_chinese and not part.intents
                else 0.0
            )
        reached += part.weight * far
        told_any = told_any or (far > 0 and part.weight == 1)
        of_named = of_named or word in names
    if question.asks_when and not statement.has_date:
        reached *= _UNDATED_FACTOR
    another = question.about_user and (statement.about_other if statement.about_user else of_called)
    if question.family:
        another = statement.about_user and question.family.isdisjoint(tells)
    return StatementMatch(
        reached / question.weight if told_any else 0.0, statement.about_user or of_called, another and not of_named
    )
