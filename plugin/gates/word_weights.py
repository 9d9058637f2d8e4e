"""How much lexemes say: a word counts one, two characters of CJK, of which a word has one and a half pairs, a half."""

from __future__ import annotations

from muniment.memory.rules.language.tokens import has_cjk

_PAIR = 0.5


def weigh_lexemes(lexemes: frozenset[str]) -> float:
    """Return how many words the lexemes are worth."""
    return sum(_PAIR if has_cjk(each) else 1.0 for each in lexemes)
