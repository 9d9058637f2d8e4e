"""Finds what else says a statement that is erased, or was derived from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from muniment.memory.domain.erasure import MemoryStatement
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.turn import Turn
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.provenance.quoted import hash_shingles, is_repetition

_SENTENCE = lazy_compile(r"[.!?。！？\n]+")
_PIECE_WORDS = 1_000  # words whose sequences are hashed together
_MIN_SHARE, _MIN_WHOLE_SHARE = 0.7, 0.9  # of the words of a statement
_MIN_WORDS = 3  # a shorter statement is found only as it stands
_STEM, _ENDING = 3, 2  # letters
_SHORT = 40  # characters; a text up to this length is read by the rules in any case


def mentions_any(statements: Sequence[str], text: str) -> bool:
    """Return whether a text says most of one of the statements, in any person and order of words."""
    near = _prefilter_statements(statements, text)
    if not near:
        return False
    pieces = [frozenset(hash_shingles([piece])) for piece in _split_pieces(text)]
    sentences = [tokens.get_lexeme_set(sentence) for sentence in _SENTENCE.split(text)]
    return any(_is_mentioned(statement, pieces, sentences) for statement in near)


def join_texts(*values: Any) -> str:
    """Return the texts of JSON values, names too, each on a line of its own."""
    lines: list[str] = []
    waiting = [*reversed(values)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            lines.append(value)
        elif isinstance(value, Mapping):
            waiting += [part for item in reversed([*value.items()]) for part in reversed(item)]
        elif isinstance(value, list | tuple):
            waiting += reversed(value)
    return "\n".join(lines)


def turn_states_any(statements: Sequence[str], turn: Turn) -> bool:
    """Return whether one of the statements is extracted from a turn by rule: short ones are seldom said literally.

    What the rules make of a turn has a word of it, unless the turn has none but those that carry no meaning."""
    if len(turn.text) > _SHORT and not _prefilter_statements(statements, turn.text):
        return False
    return any(states_any(statements, candidate.text) for candidate in extract_statements(turn).candidates)


def echoes_any(statements: Sequence[str], turn: Turn) -> bool:
    """Return whether a turn is a reply that repeats one of the statements after it was recalled for the model."""
    recalled = frozenset(turn.recalled)
    return turn.role == "assistant" and any(
        is_repetition(statement, recalled) and mentions_any((statement,), turn.text) for statement in statements
    )


def states_any(statements: Sequence[str], text: str) -> bool:
    """Return whether a text says the whole of one of the statements, and is not another statement about the same."""
    lexemes = tokens.get_lexeme_set(text)
    return any(
        _compute_share(statement, lexemes) >= _MIN_WHOLE_SHARE and is_repetition(statement, hash_shingles([text]))
        for statement in _prefilter_statements(statements, text)
    )


def find_affected_part(
    statements: Sequence[str], turns: frozenset[TurnId], other: MemoryStatement
) -> Literal["text", "beside"] | None:
    """Return which part of another memory has to be erased with the statements and these turns: its text, if that or
    its fact or another name says it; only what is kept beside it; or None."""
    if other.kind == "insight" and not turns.isdisjoint(other.turns):
        return "text"
    says_any = states_any if other.kind == "semantic" else mentions_any
    if any(says_any(statements, text) for text in (other.text, *other.aliases, *join_texts(other.fact).splitlines())):
        return "text"
    return None if drop_beside(statements, other) == other else "beside"


def drop_beside(statements: Sequence[str], other: MemoryStatement) -> MemoryStatement:
    """Return a memory without what is kept beside its text and says one of the statements: context, tags, source."""
    return replace(
        other,
        context=None if other.context and mentions_any(statements, other.context) else other.context,
        tags=tuple(tag for tag in other.tags if not mentions_any(statements, tag)),
        source=None if other.source and mentions_any(statements, other.source) else other.source,
    )


def _is_mentioned(statement: str, pieces: Sequence[frozenset[int]], sentences: Sequence[frozenset[str]]) -> bool:
    if any(is_repetition(statement, piece) for piece in pieces):
        return True
    is_long = len(tokens.get_lexeme_set(statement)) >= _MIN_WORDS
    return is_long and any(_compute_share(statement, sentence) >= _MIN_SHARE for sentence in sentences)


def _split_pieces(text: str) -> Iterator[str]:
    """Yield the lines of a text; a long line in overlapping parts."""
    for line in text.splitlines():
        words = line.split() if len(line) > _PIECE_WORDS else [line]
        for start in range(0, len(words), _PIECE_WORDS // 2):
            yield " ".join(words[start : start + _PIECE_WORDS])


def _compute_share(statement: str, text: frozenset[str]) -> float:
    lexemes = tokens.get_lexeme_set(statement)
    return len(lexemes & text) / len(lexemes) if lexemes else 0.0


def _prefilter_statements(statements: Sequence[str], text: str) -> list[str]:
    """Return, quickly, the statements of which the text has any word, without its ending."""
    folded = tokens.fold_text(text)
    return [
        statement
        for statement in statements
        if any(word[: max(_STEM, len(word) - _ENDING)] in folded for word in tokens.get_lexeme_set(statement))
    ]
