"""Reads what a person lays down in passing: `ids are ulids not uuids`, `标题不能超过 80 个字符`.

The engine's measure of statements says by its form and words whether a sentence states something lasting; requests,
questions and what holds for the moment are none."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

from muniment.memory.domain.memory import Fact
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.extraction import classify
from muniment.memory.rules.extraction.clauses import split_sentences
from muniment.memory.rules.extraction.forget_requests import FORGET_WORD, parse_forget_request
from muniment.memory.rules.extraction.gate import find_skip_reason
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.provenance import quoted
from muniment.plugin.gates.stability import is_momentary, is_standing, tells_state
from muniment.plugin.reading import order_forms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muniment.memory.domain.turn import Turn

_MAX_CHARS = 200  # of a sentence; a longer one tells a story
_MAX_SENTENCES = 20
_OFFSET = 2.6  # log odds at which the confidence is one half: the measure is made for statements about a person
_IMPORTANCE = 3
_ASKED = lazy_compile(r"(?i)^\W*(?:please|pls|plz)\b|^\W*(?:请|麻烦)")  # a piece of work, unless it says that it holds
_EDGES = " \t\r\n,，.。!！;；:：\"“”'"


def read_declarations(turn: Turn) -> tuple[Candidate, ...]:
    """Return what a redacted turn of a person lays down, one candidate for each sentence, in its words."""
    text = quoted.strip_quoted(turn).text
    return tuple(
        _make_candidate(sentence, turn, score)
        for _, sentence in zip(range(_MAX_SENTENCES), split_sentences(text), strict=False)
        for score in _score(sentence)
    )


def _score(sentence: str) -> Iterator[float]:
    """The log odds that a sentence states something that lasts; nothing for one that does not state at all."""
    said = sentence.strip()
    if len(said) > _MAX_CHARS or said.endswith(("?", "？")) or find_skip_reason(said, "user") is not None:
        return
    if order_forms.is_put_off(said):
        return
    if FORGET_WORD.search(said) and parse_forget_request(said):
        return
    is_asked = classify.is_request(said) or (_ASKED.match(said) and not is_standing(said))
    if not (is_asked or is_momentary(said) or tells_state(_ASKED.sub("", said))):
        yield classify.score_statement(said)


def _make_candidate(sentence: str, turn: Turn, score: float) -> Candidate:
    said = sentence.strip(_EDGES)
    return Candidate(
        text=f'The user states: "{said}"',
        category="constraints",
        fact=Fact(kind="rule", predicate="keeps_rule", object=said),
        importance=_IMPORTANCE,
        confidence=1 / (1 + exp(-(score + _OFFSET))),
        turns=(turn.id,),
        actor=turn.actor,
    )
