"""Patterns that are compiled when they are first used.

The rules know some five hundred, of which one message needs a few: to compile all of them takes longer than to import the rest of
the engine."""

from __future__ import annotations

import re
from typing import Any, cast

_USES = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")


def late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, but later. What no pattern can be is found at its first use: `re.error`."""
    return cast("re.Pattern[str]", _Late(pattern, flags))


class _Late:
    """Stands for a pattern, and has its methods for its own once one is asked for: the second use costs what it always did."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # nobody who copies or inspects it is a use
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        self.__dict__ |= {use: getattr(compiled, use) for use in _USES}
        return getattr(compiled, name)
