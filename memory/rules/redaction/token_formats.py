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


@dataclass(frozen=True)
class NamedFormat:
    """How the tokens of a provider look that are known only beside one of the provider's `names`."""

    names: tuple[str, ...]
    least_entropy: float
    source: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of a whole token, compiled at its first use."""
        return re.compile(self.source, re.ASCII)

    def describes(self, token: str, beside: str) -> bool:
        """Whether a token is of this provider, whose name stands in the text beside it, in lower case."""
        return (
            any(map(beside.__contains__, self.names))
            and self.pattern.fullmatch(token) is not None
            and compute_entropy(token) >= self.least_entropy
        )


def compute_entropy(text: str) -> float:
    """Shannon's entropy of the characters of a text, in bits a character; 0.0 for an empty text."""
    size = len(text)
    return -sum(count / size * log2(count / size) for count in Counter(text).values())


class _Formats:
    """The formats of both files, read when the first text may have a token."""

    @cached_property
    def formats(self) -> tuple[_TokenFormat, ...]:
        rows = (row for name in _FILES for row in load_secret_data(name).get_phrases("formats"))
        return tuple(_TokenFormat(*_parse_row(row)) for row in rows)

    @cached_property
    def named(self) -> tuple[NamedFormat, ...]:
        return tuple(NamedFormat(*_parse_row(row)) for row in load_secret_data(_FILES[0]).get_phrases("named"))

    @cached_property
    def allowed(self) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(row, re.ASCII) for row in load_secret_data(_FILES[0]).get_phrases("allowed"))


_FORMATS = _Formats()


def find_tokens(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the tokens in a text."""
    lowered = text.lower()
    for each in _FORMATS.formats:
        if any(map(lowered.__contains__, each.keywords)):
            yield from (span for span in each.find_spans(text) if not _is_example(text[slice(*span)]))


def find_named_formats(text: str) -> tuple[NamedFormat, ...]:
    """The formats of the providers that a text names."""
    lowered = text.lower()
    return tuple(each for each in _FORMATS.named if any(map(lowered.__contains__, each.names)))


def _is_example(token: str) -> bool:
    return any(pattern.fullmatch(token) for pattern in _FORMATS.allowed)


def _parse_row(row: str) -> tuple[tuple[str, ...], float, str]:
    _, least, words, source = row.split(" ", _FIELDS - 1)
    return tuple(words.split(",")), float(least), source
