"""Typing errors in a query: a word that no memory has and no vocabulary knows is read as the nearest word that one has.

Whether a word is spelled as others spell it is told by the vocabulary that counts tokens: it has the words of many
languages whole, and a misspelled one in pieces."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.retrieval.render import DEFAULT_VOCABULARY, count_tokens

MIN_LETTERS = 5  # of a word that is corrected, and of the word it is read as
_MAX_ERRORS = 2  # words of a query that no vocabulary knows
_LONG = 9  # letters of a word in which two errors are forgiven
_CUT_OFF = 3  # letters at the end of a word that may be missing
_ANY_WORD = lazy_compile(r"[^\W\d_]{3,40}")
_WORD = lazy_compile(r"[^\W\d_]{5,40}")


def find_unknown_words(text: str, missing: Collection[str], vocabulary: str = DEFAULT_VOCABULARY) -> list[str]:
    """Return the folded words of a query that are perhaps typing errors; `missing` are terms that no memory has.

    `vocabulary` is the one that counts tokens."""
    if not missing or tokens.has_cjk(text):
        return []
    unknown = [
        word
        for word in dict.fromkeys(_WORD.findall(text))
        if _is_missing(word, missing) and not _is_known(word, vocabulary)
    ]
    # A text with more such words, known to memories or not, is in a language that the vocabulary does not know.
    if unknown and sum(not _is_known(word, vocabulary) for word in set(_ANY_WORD.findall(text))) > _MAX_ERRORS:
        return []
    return list(map(tokens.fold_text, unknown))


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
    return _WORD.sub(lambda match: spellings.get(tokens.fold_text(match[0]), match[0]), text)


def _is_missing(word: str, missing: Collection[str]) -> bool:
    terms = tokens.extract_terms(word)
    return bool(terms) and all(term in missing for term in terms)


def _is_known(word: str, vocabulary: str) -> bool:
    folded = word.lower()
    return any(count_tokens(f" {form}", vocabulary) == 1 for form in (folded, folded.capitalize(), folded.upper()))


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
