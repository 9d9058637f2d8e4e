"""The port to a reader of long texts, which works beside this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

VERY_LONG_TEXT = 20_000  # characters from which a text is worth the way to a reader and back
_Result = TypeVar("_Result")


class TextReader(Protocol):
    """Calls pure functions with long texts where they hold up neither the event loop nor other threads."""

    def call_function(self, function: Callable[..., _Result], /, *arguments: Any) -> _Result:
        """Return what a function of a module returns, or raise what it raises. It waits: call it from a thread.

        Function, arguments, result and error are pickled."""
        ...

    def forget_texts(self) -> None:
        """Drop what is cached of texts, after something was erased. It waits, too."""
        ...
