"""How many tokens a text costs, without any provider's tokenizer: counted high rather than low."""

from __future__ import annotations

import re

# Byte-pair vocabularies cut an English word into pieces of four letters or more, rare words excepted, and a number into
# pieces of up to three digits.
_PIECES = re.compile(r"[A-Za-z]{1,4}|[0-9]{1,2}|[^\x00-\x7f]|[^A-Za-z0-9\s]")
_WIDE = re.compile(r"[^\x00-\x7f]")


def count(text: str) -> int:
    """Tokens of a text: one per four letters or two digits of a word, begun ones included; a CJK character or symbol two."""
    return len(_PIECES.findall(text)) + (0 if text.isascii() else len(_WIDE.findall(text)))
