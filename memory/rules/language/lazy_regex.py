"""Patterns that are compiled at their first use.

The rules have about five hundred, and one message needs a few. Compiling all takes longer than importing the rest of
the engine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, cast


def lazy_compile(pattern: str, flags: int = 0, *, fill: Callable[[str], str] | None = None) -> re.Pattern[str]:
    """Like `re.compile`, but at the first use, which raises `re.error` for a malformed pattern. `fill` makes the
    pattern out of what is given, also then: it puts words in the place of their names."""
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags, fill))


def join_alternatives(words: Iterable[str]) -> str:
    """A group that matches any of the words: the longest that fits, because longer words come first."""
    return "(?:" + "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word)))) + ")"


class _CompiledPattern:
    """Has the attributes of a compiled pattern as its own, so that no look-up remains."""


class _LazyPattern:
    """Stands for a pattern until it is used."""

    def __init__(self, pattern: str, flags: int, fill: Callable[[str], str] | None) -> None:
        if fill is None:
            self.pattern = pattern
        self._given, self._flags, self._fill = pattern, flags, fill

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # copying or inspecting is no use
            raise AttributeError(name)
        compiled = re.compile(self._fill(self._given) if self._fill else self._given, self._flags)
        self.__dict__ |= {use: getattr(compiled, use) for use in dir(compiled) if not use.startswith("_")}
        self.__class__ = _CompiledPattern  # type: ignore[assignment]  # mypy does not model a change of class
        return getattr(compiled, name)
