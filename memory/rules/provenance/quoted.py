"""Separates a person's own words from quoted text, in English and Chinese.

Pasted text is a document with an author of its own. What a document tells the assistant to do or to remember is pending
until a person approves it. Where the end of a document is in doubt, the rest of the message is the document's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from muniment.memory.domain.memory import TRUST_RANK, Trust
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.rules.language import tokens
from muniment.memory.rules.provenance import announcements, letters, listings, marks, orders, transcripts
from muniment.memory.rules.provenance.instructions import (
    find_foreign_spans,
    find_instructions,
    has_instructions,
    is_instruction,
)

__all__ = (
    "TurnParts",
    "find_instructions",
    "find_quoted_instructions",
    "has_instructions",
    "hold_instruction",
    "split_quoted",
    "strip_quoted",
    "weigh_trust",
)

_MOST = 3  # instructions of a turn that a person is asked about
_LONGEST = 280
_SHARED = 0.5  # of a statement's words; then it says the same as the sentence
_SOME = 0.2  # less in common is chance
_NEARLY = 0.8  # of the largest share
_FOREIGN: tuple[Trust, ...] = ("tool", "document")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnParts:
    """A turn's own text, and the texts that it quotes."""

    own_text: str
    quotes: tuple[str, ...] = ()


def split_quoted(turn: Turn) -> TurnParts:
    """The own words of a turn and its quotes. A turn of a tool or a document is one quote."""
    if turn.role != "user" or turn.source != "user":
        return TurnParts(own_text="", quotes=(turn.text,) if turn.text.strip() else ())
    own: list[str] = []
    pasted: list[str] = []
    done = 0
    for start, end in _find_quoted_spans(turn.text):
        if end > done:
            own.append(turn.text[done:start])
            pasted.append(turn.text[max(done, start) : end])
            done = end
    own.append(turn.text[done:])
    return TurnParts(own_text="\n".join(own) if pasted else turn.text, quotes=tuple(filter(str.strip, pasted)))


def strip_quoted(turn: Turn) -> Turn:
    """A user's turn with the person's own words only; other turns unchanged."""
    return replace(turn, text=split_quoted(turn).own_text) if turn.role == "user" else turn


def find_quoted_instructions(turn: Turn) -> tuple[Candidate, ...]:
    """Pending candidates of the instructions that a user pasted, word for word; at most 3."""
    quotes = split_quoted(turn).quotes if turn.role == "user" else ()
    sentences = dict.fromkeys(sentence for text in quotes for sentence in find_instructions(text))
    return tuple(
        Candidate(
            text=sentence[:_LONGEST],
            category="activity",
            kind="episodic",
            importance=1,
            confidence=0.5,
            trust="document",
            turns=(turn.id,),
            actor=turn.actor,
            role=turn.role,
            state="pending",
        )
        for sentence in list(sentences)[:_MOST]
    )


def hold_instruction(candidate: Candidate) -> Candidate:
    """The candidate, pending if a tool or a document states it and it instructs.

    A statement of theirs about what the user wants is an instruction, too."""
    is_ordered = candidate.trust in _FOREIGN and is_instruction(candidate.text)
    return replace(candidate, state="pending") if is_ordered else candidate


def weigh_trust(candidate: Candidate, turns: Sequence[Turn]) -> Candidate:
    """The candidate with the trust of the words that state it, pending if those instruct.

    `turns` are its supporting turns and those that were read with them. Of the parts with most of its words, or nearly,
    the most trusted one counts. A candidate that shares no words, such as a translation, has the least trust of its
    supporting turns."""
    lexemes = tokens.get_lexeme_set(candidate.text)
    sources = [source for turn in turns for source in _find_sources(turn, candidate, lexemes)]
    best = max((source.overlap for source in sources), default=0.0)
    if best >= _SOME:
        trust = max(
            (source.trust for source in sources if source.overlap >= best * _NEARLY), key=TRUST_RANK.__getitem__
        )
    else:
        trust = min(
            (source.trust for source in sources if source.is_cited), key=TRUST_RANK.__getitem__, default=candidate.trust
        )
    is_ordered = trust in _FOREIGN and any(
        best < _SOME or _measure_overlap(lexemes, order) >= _SHARED  # no overlap: perhaps another language
        for source in sources
        if source.trust in _FOREIGN
        for order in find_instructions(source.text)
    )
    return hold_instruction(replace(candidate, trust=trust, state="pending" if is_ordered else candidate.state))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A part of a turn, with the share in [0, 1] of a statement's words that it has."""

    text: str
    trust: Trust
    is_cited: bool
    overlap: float


def _find_sources(turn: Turn, candidate: Candidate, lexemes: frozenset[str]) -> Iterator[_Source]:
    parts = split_quoted(turn)
    pasted: Trust = "document" if turn.source == "user" else turn.source
    own: list[tuple[Trust, str]] = [("user", parts.own_text)] if parts.own_text.strip() else []
    for trust, text in [*own, *((pasted, quote) for quote in parts.quotes)]:
        yield _Source(
            text=text, trust=trust, is_cited=turn.id in candidate.turns, overlap=_measure_overlap(lexemes, text)
        )


def _measure_overlap(lexemes: frozenset[str], text: str) -> float:
    return len(lexemes & tokens.get_lexeme_set(text)) / len(lexemes) if lexemes else 0.0


def _find_quoted_spans(text: str) -> list[tuple[int, int]]:
    """The spans of pasted text, sorted."""
    marked = marks.find_marked_spans(text)
    quotes = marks.find_quotes(text)
    spans = [*marked, *marks.select_foreign_quotes(text, quotes)]
    spans += announcements.find_announced_spans(text, [*marked, *quotes])
    spans += find_foreign_spans(text)
    spans += letters.find_letter_spans(text)
    spans += transcripts.find_transcript_spans(text)
    spans += listings.find_listing_spans(text)
    spans += orders.find_ordered_spans(text)
    return sorted(spans)
