"""What else says a statement that is to be erased, or was made of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from muniment.memory.domain.erasure import MemoryStatement
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.turn import Turn
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.provenance.fingerprints import hash_shingles, is_repetition

_SENTENCE = lazy_compile(r"[.!?。！？\n]+")
_AT_ONCE = 1_000  # words whose sequences are hashed together
_MIN_SHARE, _MIN_WHOLE_SHARE = 0.7, 0.9  # of the words of a statement
_MIN_WORDS = 3  # words that say something only as they stand
_STEM, _ENDING = 3, 2  # letters


def mentions_any(statements: Sequence[str], text: str) -> bool:
    """Whether a text, however long, says most of one of the statements, in whatever person and order."""
    near = _prefilter_statements(statements, text)
    if not near:
        return False
    pieces = [frozenset(hash_shingles([piece])) for piece in _split_pieces(text)]
    sentences = [tokens.get_lexeme_set(sentence) for sentence in _SENTENCE.split(text)]
    return any(_is_mentioned(one, pieces, sentences) for one in near)


def turn_states_any(statements: Sequence[str], turn: Turn) -> bool:
    """Whether one of the statements is what a turn is understood to say, in whatever words: one of two words is seldom
    said as it stands."""
    return any(states_any(statements, one.text) for one in extract_statements(turn).candidates)


def echoes_any(statements: Sequence[str], turn: Turn) -> bool:
    """Whether a turn is a reply that repeats one of the statements because memory had put it before the model."""
    known = frozenset(turn.recalled)
    return turn.role == "assistant" and any(
        is_repetition(one, known) and mentions_any((one,), turn.text) for one in statements
    )


def states_any(statements: Sequence[str], text: str) -> bool:
    """Whether a statement says the whole of one of these, and so is no other statement about the like."""
    said = tokens.get_lexeme_set(text)
    near = (one for one in _prefilter_statements(statements, text) if _compute_share(one, said) >= _MIN_WHOLE_SHARE)
    return any(is_repetition(one, hash_shingles([text])) for one in near)


def find_affected_part(
    statements: Sequence[str], turns: frozenset[TurnId], one: MemoryStatement
) -> Literal["text", "context"] | None:
    """What of another memory's text has to go with the statements and these turns of the ledger: all of it, or the words
    around it."""
    if one.kind == "insight" and not turns.isdisjoint(one.turns):
        return "text"
    if (states_any if one.kind == "semantic" else mentions_any)(statements, one.text):
        return "text"
    return "context" if one.context and mentions_any(statements, one.context) else None


def _is_mentioned(statement: str, pieces: Sequence[frozenset[int]], sentences: Sequence[frozenset[str]]) -> bool:
    if any(is_repetition(statement, piece) for piece in pieces):
        return True
    enough = len(tokens.get_lexeme_set(statement)) >= _MIN_WORDS
    return enough and any(_compute_share(statement, sentence) >= _MIN_SHARE for sentence in sentences)


def _split_pieces(text: str) -> Iterator[str]:
    """Lines, and of a long one overlapping parts."""
    for line in text.splitlines():
        said = line.split() if len(line) > _AT_ONCE else [line]
        for start in range(0, len(said), _AT_ONCE // 2):
            yield " ".join(said[start : start + _AT_ONCE])


def _compute_share(statement: str, text: frozenset[str]) -> float:
    said = tokens.get_lexeme_set(statement)
    return len(said & text) / len(said) if said else 0.0


def _prefilter_statements(statements: Sequence[str], text: str) -> list[str]:
    """A quick look: those of which the text has any word, without its ending. Most texts have none."""
    plain = tokens.fold_text(text)
    return [
        one for one in statements
        if any(word[: max(_STEM, len(word) - _ENDING)] in plain for word in tokens.get_lexeme_set(one))
    ]  # fmt: skip
