"""What else says a statement that is to be erased, or was made of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from muniment.memory.records import Turn, TurnId
from muniment.memory.rules import words
from muniment.memory.rules.fingerprints import prints, repeats
from muniment.memory.upkeep import Stated

_SENTENCE = re.compile(r"[.!?。！？\n]+")
_AT_ONCE = 1_000  # words whose sequences are hashed together
_MOSTLY, _NEARLY_ALL = 0.7, 0.9  # of the words of a statement
_FEW = 3  # words that say something only as they stand
_STEM, _ENDING = 3, 2  # letters


def says(statements: Sequence[str], text: str) -> bool:
    """Whether a text, however long, says most of one of the statements, in whatever person and order."""
    return any(_near(one, text) and _says(one, text) for one in statements)


def echoes(statements: Sequence[str], turn: Turn) -> bool:
    """Whether a turn is a reply that repeats one of the statements because memory had put it before the model."""
    return turn.role == "assistant" and any(
        repeats(one, turn.recalled) and says((one,), turn.text) for one in statements
    )


def states(statements: Sequence[str], text: str) -> bool:
    """Whether a statement says the whole of one of these, and so is no other statement about the like."""
    return any(
        _share(one, text) >= _NEARLY_ALL and repeats(one, prints([text])) for one in statements if _near(one, text)
    )


def touched(statements: Sequence[str], turns: frozenset[TurnId], one: Stated) -> Literal["text", "context"] | None:
    """What of another memory's text has to go with the statements and these turns of the ledger: all of it, or the words
    around it."""
    if one.kind == "insight" and not turns.isdisjoint(one.turns):
        return "text"
    if (states if one.kind == "semantic" else says)(statements, one.text):
        return "text"
    return "context" if one.context and says(statements, one.context) else None


def _says(statement: str, text: str) -> bool:
    if any(repeats(statement, prints([piece])) for piece in _pieces(text)):
        return True
    enough = len(words.lexeme_set(statement)) >= _FEW
    return enough and any(_share(statement, sentence) >= _MOSTLY for sentence in _SENTENCE.split(text))


def _pieces(text: str) -> Iterator[str]:
    """Lines, and of a long one overlapping parts."""
    for line in text.splitlines():
        said = line.split() if len(line) > _AT_ONCE else [line]
        for start in range(0, len(said), _AT_ONCE // 2):
            yield " ".join(said[start : start + _AT_ONCE])


def _share(statement: str, text: str) -> float:
    said = words.lexeme_set(statement)
    return len(said & words.lexeme_set(text)) / len(said) if said else 0.0


def _near(statement: str, text: str) -> bool:
    """A quick look: any word of the statement, without its ending. Most texts have none."""
    plain = words.fold(text)
    return any(word[: max(_STEM, len(word) - _ENDING)] in plain for word in words.lexeme_set(statement))
