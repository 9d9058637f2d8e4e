"""How much of what a question asks for a statement tells, read closely."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.language.lazy_regex import late
from muniment.memory.rules.language.normalize import vocabulary
from muniment.memory.rules.retrieval import (
    chinese_intents as chinese_aspects,
    intents as aspects,
    query_hints as wanted,
)
from muniment.memory.rules.retrieval.intents import FAMILY, NONE, PEOPLE, Aspects, Told

Called = Mapping[str, Aspects]
_LIGHT = 0.3  # of a word that says little of what is wanted
_BY_ASPECT = 0.8  # of what another word tells
_BY_CHARACTER = 0.5
_UNDATED = 0.8  # who asks when is told a time
_LONGEST = 6
MOST_HINTS = 128  # where each memory's words are held against all of them
# What is asked together with something else, and says little alone.
_GENERAL = vocabulary("like dislike plan habit event name family brand goal task weekday evening")
# Who asks for one of them does not ask of themselves.
_OTHERS = PEOPLE | {"family"}
# What may be asked of anything, and asks for an aspect only by itself.
_VAGUE = frozenset(("what do i do", *chinese_aspects.VAGUE.split()))
_LITTLE = frozenset(map(words.stem, vocabulary(
    "know tell told remember remind need want get got go goes went come use using make made give take thing things kind"
    " kinds sort type types stuff usually often normally currently ever still again also already really always never please"
    " let us keep kept look many much long far particular current today nowadays days moment time one ones anything something"
    " everything someone anybody say said call happen plan right supposed able main whole else put set first next last new"
    " exactly favourite favorite day bring brought part"
)))  # fmt: skip
_STOP = words.STOP | frozenset(map(words.stem, words.STOP))
_MINE = late(r"\b(?:i|my|me|mine|myself|we|our|ours|user)\b|我|用户", re.IGNORECASE)
# "We" may be those of theirs too: what is told of them is an answer.
_ALONE = late(r"\b(?:i|my|me|mine|myself|user)\b|我(?!们)|用户", re.IGNORECASE)
# Who is told, and who wants to know, says nothing of what is asked.
_TO_ME = late(
    r"(?:^|[.,;:!?]|\b(?:please|you|and|then|just|now)) *(?:tell|remind|show|give|help|let) me\b"
    r"|\b(?:i|we|(?:the )?user)(?: am| are| is| was| were|['’]m)? (?:also |just |still )?(?:wonder(?:s|ed|ing)?|curious|ask(?:s|ed|ing)?)\b"
    r"|\b(?:i|we|(?:the )?user)(?:['’]d| would)? (?:like|love|wants?|needs?) (?:you )?to (?:know|ask|hear|learn|see|find out|understand)\b"
    r"|\b(?:can|could|may|might) (?:i|we) (?:ask|know)\b"
    r"|\b(?:i|we)(?: do not| don['’]t| cannot| can['’]t)? (?:know|remember|recall|forget|forgot)(?= (?:who|what|when|where|which|why|how|if|whether)\b)"
    r"|(?:告诉|提醒)(?:一下)?我|[给跟和对]我(?:讲|说|看|介绍)|帮我(?=[查找看问想回])|让我(?=[看想])"
    r"|(?:我|用户)[就也还]?(?:想|要)(?:知道|了解|请?问|请教)|(?:我|用户)(?:不知道|不记得|忘了|好奇|在问)",
    re.IGNORECASE,
)
_SENTENCE = late(r"[^.!?:;\n。！？：；]+[?？]?")
_WHO = frozenset({"who", "whom", "whose"})
_WHO_ZH, _WHEN_ZH = chinese_aspects.WHO.split(), chinese_aspects.WHEN.split()
_OPEN_ZH = frozenset(("用户", *_WHO_ZH, *_WHEN_ZH, *chinese_aspects.OPEN.split()))


@dataclass(frozen=True, slots=True)
class Part:
    """A word of a question, with the aspects that tell it, and the other words that ask for the same."""

    word: str
    aspects: Aspects
    weight: float
    chinese: bool = False
    near: frozenset[str] = NONE


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks for."""

    parts: tuple[Part, ...]
    weight: float
    when: bool
    own: bool  # what is the asker's own, and nobody else's
    aspects: Aspects  # of all parts
    family: Aspects  # whom of theirs it is about


class Read(NamedTuple):
    """A statement as a question sees it."""

    tells: float  # how much of what is asked, [0, 1]; none where only of what says little
    plain: bool  # that it is clear of whom it is
    another: bool  # it is of others than the question: not of the asker's family, or not of themselves


@lru_cache(maxsize=1_024)
def mine(text: str) -> bool:
    """Whether somebody asks about themselves, or is asked about as the user; not where they only say who it is that asks, or ask
    for somebody by name after having talked of themselves."""
    said = _TO_ME.sub(" ", text)
    if _MINE.search(said) is None:
        return False
    asking = [one for one in _SENTENCE.findall(said) if one[-1] in "?？"]
    return not asking or any(_MINE.search(one) or not wanted.names(one) for one in asking)


@lru_cache(maxsize=1_024)
def asked(text: str) -> Asked:
    """What a question asks for, word by word."""
    stemmed = aspects.stems(text)
    parts = _joined(_parts(stemmed))
    if all(part.weight < 1 for part in parts):
        parts = [replace(part, weight=1.0) for part in parts]
    chinese = [run for run in stemmed if words.has_cjk(run)]
    who = not _WHO.isdisjoint(stemmed) or any(one in run for run in chinese for one in _WHO_ZH)
    found = NONE.union(*(part.aspects for part in parts))
    return Asked(
        parts=tuple(parts),
        weight=sum(part.weight for part in parts),
        when="when" in stemmed or any(one in run for run in chinese for one in _WHEN_ZH),
        own=mine(text) and _ALONE.search(_TO_ME.sub(" ", text)) is not None and not who and not found & _OTHERS,
        aspects=found,
        family=found & FAMILY,
    )


def hints(text: str, most: int) -> frozenset[int]:
    """The dimensions of words that tell what a question asks for, at most so many."""
    return aspects.dimensions(asked(text).aspects, most)


def _parts(stemmed: Sequence[str]) -> Iterator[Part]:
    for at, end, found in aspects.phrases(stemmed, aspects.tables().asks):
        word = stemmed[at] if end == at + 1 else ""
        if words.has_cjk(word):
            yield from _pieces(word)
        elif found:
            yield Part(word, found, _weight(" ".join(stemmed[at:end]), found))
        elif word not in _STOP:
            yield Part(word, NONE, _LIGHT if word in _LITTLE else 1.0)


def _pieces(run: str) -> Iterator[Part]:
    """The pieces of Chinese that ask for an aspect, the longest first, and what is left between them and the little words."""
    asks = aspects.tables().asks
    at, rest = 0, ""
    while at < len(run):
        sizes = range(min(_LONGEST, len(run) - at), 0, -1)
        size = next((size for size in sizes if run[at : at + size] in asks or run[at : at + size] in _OPEN_ZH), 0)
        if not size:
            rest += run[at]
            at += 1
            continue
        yield from _left(rest)
        rest, piece = "", run[at : at + size]
        if found := asks.get(piece):
            yield Part(piece, found, _weight(piece, found), chinese=True)
        at += size
    yield from _left(rest)


def _left(rest: str) -> Iterator[Part]:
    if rest:
        yield Part(rest, NONE, 1.0 if len(rest) > 1 else _LIGHT, chinese=True)


def _weight(said: str, found: Aspects) -> float:
    return _LIGHT if found <= _GENERAL or said in _VAGUE else 1.0


def _joined(parts: Iterable[Part]) -> list[Part]:
    """The parts, those that ask for the same thing as one."""
    done: list[Part] = []
    for part in parts:
        twin = next(
            (n for n, one in enumerate(done) if (one.aspects & part.aspects) - _GENERAL or one.word == part.word != ""),
            None,
        )
        if twin is None:
            done.append(part)
            continue
        one = done[twin]
        near = one.near | part.near | ({part.word} - {""})
        done[twin] = Part(one.word, one.aspects | part.aspects, max(one.weight, part.weight), one.chinese, near)
    return done


def called(statements: Iterable[Told]) -> Called:
    """Who is called what, as any of the statements tells it."""
    found: dict[str, Aspects] = {}
    for one in statements:
        for name, whose in one.called:
            found[name] = found.get(name, NONE) | whose
    return found


def read(what: Asked, one: Told, names: Called, speaker: str = "") -> Read:
    """A statement as the question sees it, with the lower case of who said it, whom it is of. It is done for every candidate
    of a search, hence so plainly."""
    text, said, tells, of_called = one.text, one.words, one.aspects, False
    for name, whose in names.items():
        if name in text:
            tells = tells | whose
            if text.startswith(name):
                of_called = True
                # What Bo says of his daughter answers who asks about his daughter, not who asks about him.
                if whose.isdisjoint(what.aspects):
                    speaker = ""
    reached, told_any, of_named = 0.0, False, False
    for part in what.parts:
        word = part.word
        if word in said or word == speaker != "" or (part.chinese and word in text):
            far = 1.0
        elif (
            not part.aspects.isdisjoint(tells)
            or not part.near.isdisjoint(said)
            or (word in names and not names[word].isdisjoint(tells))
        ):
            far = _BY_ASPECT
        else:
            far = (
                _BY_CHARACTER * sum(char in text for char in word) / len(word)
                if part.chinese and not part.aspects
                else 0.0
            )
        reached += part.weight * far
        told_any = told_any or (far > 0 and part.weight == 1)
        of_named = of_named or word in names
    if what.when and not one.dated:
        reached *= _UNDATED
    another = what.own and (one.of_other if one.stated else of_called)
    if what.family:
        another = one.stated and what.family.isdisjoint(tells)
    return Read(reached / what.weight if told_any else 0.0, one.stated or of_called, another and not of_named)
