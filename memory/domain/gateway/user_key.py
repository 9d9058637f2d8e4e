"""A key that cannot be shown."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any, NoReturn, Self


class UserKey:
    """The key of a gateway's user. Only `reveal_value` returns it.

    It is shown as asterisks. It cannot be pickled (TypeError) or encoded as JSON, and has no attribute with its text,
    so that neither a checkpoint nor a tool that walks through attributes can hold it."""

    __slots__ = ("_open",)

    def __init__(self, value: str) -> None:
        self._open: Callable[[], str] = lambda: value

    def reveal_value(self) -> str:
        """Return the key in the clear, for the body of a request."""
        return self._open()

    def __repr__(self) -> str:
        return "UserKey('**********')"

    def __str__(self) -> str:
        return "**********"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UserKey):
            return NotImplemented
        mine, theirs = (key.reveal_value().encode("utf-8", "surrogatepass") for key in (self, other))
        return hmac.compare_digest(mine, theirs)

    def __hash__(self) -> int:
        return hash((UserKey, self.reveal_value()))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("The key of a gateway's user cannot be pickled.")
