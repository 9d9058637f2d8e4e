"""What every memory that takes part is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

Result = TypeVar("Result")


class PeerFailed(RuntimeError):
    """A peer did not answer: it crashed, hung, or raised an error. The message says which."""


class NotOffered(PeerFailed):
    """The library has no such call."""


@dataclass(frozen=True, slots=True)
class Item:
    """A statement, and the key by which the benchmark knows it again."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """A hit: the library's id, the benchmark's key, and the words."""

    id: str
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Timed(Generic[Result]):
    """What a call returned, and the seconds that the library took for it."""

    result: Result
    seconds: float


class Peer(Protocol):
    """A memory that takes part. A call that its library does not have raises NotOffered, another failure PeerFailed."""

    name: str

    async def load(self, user: str, items: Sequence[Item]) -> Timed[int]:
        """Store many statements by the library's way for that; returns how many it took."""
        ...

    async def add(self, user: str, item: Item) -> Timed[str]:
        """Store one statement; returns its id, or an empty one where nothing is kept of it."""
        ...

    async def search(self, user: str, text: str, k: int) -> Timed[list[Found]]:
        """Return at most `k` hits, best first."""
        ...

    async def change(self, user: str, id_: str, text: str) -> None:
        """Give a statement other words by the library's own call."""
        ...

    async def history(self, user: str, id_: str) -> list[str]:
        """Return the words that a statement had and has."""
        ...

    async def delete(self, user: str, id_: str) -> None:
        """Delete a statement by the library's own call."""
        ...

    async def erase(self, user: str, id_: str) -> None:
        """Remove a statement by the most thorough call that the library has."""
        ...
