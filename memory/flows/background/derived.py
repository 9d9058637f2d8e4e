"""What else says a statement that is to be erased, or was made of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from muniment.memory.domain.erasure import Stated
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.turn import Turn
from muniment.memory.rules.extraction.extract import extract
from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.language.lazy_regex import late
from muniment.memory.rules.provenance.fingerprints import prints, repeats

_SENTENCE = late(r"[.!?。！？\n]+")
_AT_ONCE = 1_000  # words whose sequences are hashed together
_MOSTLY, _NEARLY_ALL = 0.7, 0.9  # of the words of a statement
_FEW = 3  # words that say something only as they stand
_STEM, _ENDING = 3, 2  # letters


def says(statements: Sequence[str], text: str) -> bool:
    """Whether a text, however long, says most of one of the statements, in whatever person and order."""
    near = _near(statements, text)
    if not near:
        return False
    pieces = [frozenset(prints([piece])) for piece in _pieces(text)]
    sentences = [words.lexeme_set(sentence) for sentence in _SENTENCE.split(text)]
    return any(_says(one, pieces, sentences) for one in near)


def tells(statements: Sequence[str], turn: Turn) -> bool:
    """Whether one of the statements is what a turn is understood to say, in whatever words: one of two words is seldom
    said as it stands."""
    return any(states(statements, one.text) for one in extract(turn).candidates)


def echoes(statements: Sequence[str], turn: Turn) -> bool:
    """Whether a turn is a reply that repeats one of the statements because memory had put it before the model."""
    known = frozenset(turn.recalled)
    return turn.role == "assistant" and any(repeats(one, known) and says((one,), turn.text) for one in statements)


def states(statements: Sequence[str], text: str) -> bool:
    """Whether a statement says the whole of one of these, and so is no other statement about the like."""
    said = words.lexeme_set(text)
    near = (one for one in _near(statements, text) if _share(one, said) >= _NEARLY_ALL)
    return any(repeats(one, prints([text])) for one in near)


def touched(statements: Sequence[str], turns: frozenset[TurnId], one: Stated) -> Literal["text", "context"] | None:
    """What of another memory's text has to go with the statements and these turns of the ledger: all of it, or the words
    around it."""
    if one.kind == "insight" and not turns.isdisjoint(one.turns):
        return "text"
    if (states if one.kind == "semantic" else says)(statements, one.text):
        return "text"
    return "context" if one.context and says(statements, one.context) else None


def _says(statement: str, pieces: Sequence[frozenset[int]], sentences: Sequence[frozenset[str]]) -> bool:
    if any(repeats(statement, piece) for piece in pieces):
        return True
    enough = len(words.lexeme_set(statement)) >= _FEW
    return enough and any(_share(statement, sentence) >= _MOSTLY for sentence in sentences)


def _pieces(text: str) -> Iterator[str]:
    """Lines, and of a long one overlapping parts."""
    for line in text.splitlines():
        said = line.split() if len(line) > _AT_ONCE else [line]
        for start in range(0, len(said), _AT_ONCE // 2):
            yield " ".join(said[start : start + _AT_ONCE])


def _share(statement: str, text: frozenset[str]) -> float:
    said = words.lexeme_set(statement)
    return len(said & text) / len(said) if said else 0.0


def _near(statements: Sequence[str], text: str) -> list[str]:
    """A quick look: those of which the text has any word, without its ending. Most texts have none."""
    plain = words.fold(text)
    return [
        one for one in statements
        if any(word[: max(_STEM, len(word) - _ENDING)] in plain for word in words.lexeme_set(one))
    ]  # fmt: skip
