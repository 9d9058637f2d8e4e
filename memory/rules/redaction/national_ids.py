"""Finds national ids of the countries that the settings name, by their form and their check digits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import Any

from muniment.memory.rules.redaction.secret_data import load_secret_data


@dataclass(frozen=True)
class _IdFormat:
    """How an id is written, and the module that checks it."""

    country: str
    module: str
    source: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(rf"(?<![\w.-])(?:{self.source})(?![\w-])")

    @cached_property
    def _check(self) -> Any:
        return import_module(f"stdnum.{self.module}")

    def find_spans(self, text: str) -> Iterator[tuple[int, int]]:
        """The spans of the ids whose check digits are right."""
        yield from (match.span() for match in self.pattern.finditer(text) if self._check.is_valid(match.group()))


def find_national_ids(text: str, countries: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """The spans of the national ids of some countries (ISO 3166-1, small letters). Linear in the length of the text."""
    for each in _load_formats():
        if each.country in countries:
            yield from each.find_spans(text)


def list_countries() -> frozenset[str]:
    """The countries whose ids can be found."""
    return frozenset(each.country for each in _load_formats())


@cache
def _load_formats() -> tuple[_IdFormat, ...]:
    rows = load_secret_data("national_ids").get_phrases("ids")
    return tuple(_IdFormat(*row.split(" ", 2)) for row in rows)
