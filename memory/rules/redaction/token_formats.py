"""Finds tokens of providers by their formats, which are data: `token_formats.yaml` and `token_formats_more.yaml`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import log2

from muniment.memory.rules.redaction.secret_data import load_secret_data

_FILES = ("token_formats", "token_formats_more")
_FIELDS = 4


@dataclass(frozen=True)
class _TokenFormat:
    """How the tokens of a provider look: one of the `keywords` stands in each, and their entropy is `least_entropy` or
    more, in bits a character."""

    keywords: tuple[str, ...]
    least_entropy: float
    source: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern, compiled when its first keyword is seen. A Chinese character beside a token is a boundary."""
        return re.compile(self.source, re.ASCII)

    def find_spans(self, text: str) -> Iterator[tuple[int, int]]:
        """The spans of the tokens. Of a pattern with one group, the group is the token."""
        group = 1 if self.pattern.groups == 1 else 0
        for match in self.pattern.finditer(text):
            if compute_entropy(match.group(group)) >= self.least_entropy:
                yield match.span(group)


def compute_entropy(text: str) -> float:
    """Shannon's entropy of the characters of a text, in bits a character; 0.0 for an empty text."""
    size = len(text)
    return -sum(count / size * log2(count / size) for count in Counter(text).values())


class _Formats:
    """The formats of both files, read when the first text may have a token."""

    @cached_property
    def formats(self) -> tuple[_TokenFormat, ...]:
        rows = (row for name in _FILES for row in load_secret_data(name).get_phrases("formats"))
        fields = (row.split(" ", _FIELDS - 1) for row in rows)
        return tuple(_TokenFormat(tuple(words.split(",")), float(least), source) for _, least, words, source in fields)


_FORMATS = _Formats()


def find_tokens(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the tokens in a text."""
    lowered = text.lower()
    for each in _FORMATS.formats:
        if any(map(lowered.__contains__, each.keywords)):
            yield from each.find_spans(text)
