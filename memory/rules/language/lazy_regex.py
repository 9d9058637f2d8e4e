"""Patterns that are compiled when they are first used.

The rules know some five hundred, of which one message needs a few: to compile all of them takes longer than to import the rest of
the engine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast


def lazy_compile(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, but later. What no pattern can be is found at its first use: `re.error`."""
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))


def join_alternatives(words: Iterable[str]) -> str:
    """A group that matches any of the words: the longest that fits, because longer words come first."""
    return "(?:" + "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word)))) + ")"


class _CompiledPattern:
    """Has what a pattern has for its own, and looks nothing up any more."""


class _LazyPattern:
    """Stands for a pattern until it is used."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # who copies or inspects it does not use it
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        self.__dict__ |= {use: getattr(compiled, use) for use in dir(compiled) if not use.startswith("_")}
        self.__class__ = _CompiledPattern  # type: ignore[assignment]  # mypy knows no object that changes its class
        return getattr(compiled, name)
