"""The normal form of a text's characters, which every other rule expects."""

from __future__ import annotations

import re
import unicodedata

from muniment.memory.rules.language.lazy_regex import lazy_compile

_PAIR = lazy_compile("[\ud800-\udbff][\udc00-\udfff]")
_SURROGATE = lazy_compile("[\ud800-\udfff]")
_NEWLINE = lazy_compile("\r\n?|\x85")
# Controls have no meaning for a reader. Bidi overrides make a text look different from what it says.
_DROPPED = [*range(0x01, 0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_TABLE: dict[int, str | None] = {
    **dict.fromkeys(_DROPPED),
    0x00: "\ufffd",
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f"), '"'),
}


def _join_pair(pair: re.Match[str]) -> str:
    return pair.group().encode("utf-16", "surrogatepass").decode("utf-16")


def normalize_text(text: str) -> str:
    """The text in NFC with straight quotes and one kind of line end, without controls.

    NUL and lone surrogates become U+FFFD."""
    return unicodedata.normalize("NFC", _NEWLINE.sub("\n", repair_surrogates(text)).translate(_TABLE))


def repair_surrogates(text: str) -> str:
    """The text without lone surrogates: two halves of a character are joined, one half becomes U+FFFD."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", _PAIR.sub(_join_pair, text))


def parse_vocabulary(words: str) -> frozenset[str]:
    """The words of a list that is written as prose."""
    return frozenset(words.split())
