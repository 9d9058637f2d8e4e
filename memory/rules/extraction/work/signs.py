"""What a sentence must have for a kind, and how the words of a lexicon become parts of patterns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from muniment.memory.domain.memory import FactKind
from muniment.memory.rules.language.lazy_regex import join_alternatives, lazy_compile
from muniment.memory.rules.language.lexicon import Lexicon

_CLASS = lazy_compile(r"(?<!\?P)<([a-z_]+)>")


@dataclass(frozen=True, slots=True)
class Sign:
    """A form of clause that says a kind.

    `needs`: cues of which one stands in its sentence; none means that the form is enough. `is_order`: it has no
    subject, so that it may be told to somebody. `is_whole`: its object is all of the clause and what follows."""

    kind: FactKind
    pattern: re.Pattern[str]
    needs: tuple[str, ...] = ()
    is_order: bool = False
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Language:
    """The signs and cues of one language.

    `list_kinds`: the kinds of which a sign has its words in a text. `starts`: the places at which a clause may begin.
    `is_said`: whether a match says its kind, given the sign and the match."""

    name: str
    signs: Mapping[FactKind, tuple[Sign, ...]]
    list_kinds: Callable[[str], list[FactKind]]
    cues: Mapping[str, re.Pattern[str]]
    not_said: re.Pattern[str]
    starts: Callable[[str], Iterator[int]]
    is_said: Callable[[Sign, re.Match[str]], bool]
    work: re.Pattern[str]
    means: re.Pattern[str]
    named: re.Pattern[str]
    names: Mapping[str, tuple[str, ...]]


def make_filler(lexicon: Lexicon, *, is_spaced: bool) -> Callable[[str], str]:
    """A function that puts the words of a section in the place of each `<section>` of a pattern."""

    def find_words(match: re.Match[str]) -> str:
        rows = lexicon.get_phrases(match[1])
        words = chain.from_iterable(row.split(", ") for row in rows)
        joined = join_alternatives(words)
        return joined.replace(r"\ ", r"\s+") if is_spaced else joined

    return lambda pattern: _CLASS.sub(find_words, pattern)
