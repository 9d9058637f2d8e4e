"""Typing errors in a query: a word that no vocabulary knows is read as the nearest word that a memory has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muniment.memory.rules.language import tokens
from muniment.memory.rules.retrieval.question import MIN_LETTERS, WORD

_LONG = 9  # letters of a word in which two errors are forgiven
_CUT_OFF = 3  # letters at the end of a word that may be missing


def correct_words(text: str, unknown: Sequence[str], vocabulary: Iterable[str]) -> str | None:
    """Return the query with unknown words replaced by the nearest words of memories; None where there is none.

    A word with two nearest words stays as it is."""
    spellings: dict[str, str] = {}
    known = sorted({word for word in map(tokens.fold_text, vocabulary) if len(word) >= MIN_LETTERS})
    for typed in unknown:
        near = [(distance, word) for word in known if (distance := _measure_error(typed, word)) is not None]
        least = min((distance for distance, _ in near), default=0)
        nearest = [word for distance, word in near if distance == least]
        if len({tokens.stem_word(word) for word in nearest}) == 1:
            spellings[typed] = nearest[0]
    if not spellings:
        return None
    return WORD.sub(lambda match: spellings.get(tokens.fold_text(match[0]), match[0]), text)


def _measure_error(typed: str, word: str) -> int | None:
    """Return the number of errors that make a word another one; None for too many, or another first letter."""
    if typed[0] != word[0]:
        return None
    if word.startswith(typed):
        return len(word) - len(typed) if len(word) - len(typed) <= _CUT_OFF else None
    most = 2 if len(typed) >= _LONG else 1
    distance = _count_edits(typed, word) if abs(len(typed) - len(word)) <= most else most + 1
    return distance if distance <= most else None


def _count_edits(a: str, b: str) -> int:
    """Return the least number of letters to insert, drop, replace, or exchange with the next one."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]
