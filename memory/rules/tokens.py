"""How many tokens a text costs, without any provider's tokenizer: counted high rather than low."""

from __future__ import annotations

import re

_PIECES = re.compile(r"[A-Za-z]+|[0-9]+|[^\x00-\x7f]|[^A-Za-z0-9\s]")
_LETTERS = 4  # byte-pair vocabularies cut an English word into pieces of four letters or more, rare words excepted
_DIGITS = 2


def count(text: str) -> int:
    """Tokens of a text: a word costs one per four letters, begun ones included; a CJK character or symbol two."""
    total = 0
    for piece in _PIECES.findall(text):
        if not piece.isascii():
            total += 2
        elif piece.isalpha():
            total += -(-len(piece) // _LETTERS)
        elif piece.isdigit():
            total += -(-len(piece) // _DIGITS)
        else:
            total += 1
    return total
