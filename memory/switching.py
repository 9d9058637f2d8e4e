"""What a switch of the embedder needs of a store: vectors of the next model beside those in use, and the cut-over."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from muniment.memory.records import MemoryId, Revision, Scope, Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """A memory, or a former version of it (`since`: the revision it is from, else 0), without a vector of the next model."""

    id: MemoryId
    since: Revision
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A memory as a comparison shows it."""

    id: MemoryId
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """What one question finds by its vector alone, under the model in use and under the next: the share that is the same,
    and what only one of them has."""

    scope: Scope
    number: int  # of the question, from 1
    question: str = field(repr=False)
    overlap: float
    only_used: tuple[Held, ...] = ()
    only_next: tuple[Held, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The database's embedders: the one in use, the one of a switch under way, and how far that is.

    `rows` are memories and former versions; `done` have a vector of the next model, or of the one in use when there is no
    next; `untidy` have a vector in the column of the next model that is of the one in use, or of no use any more."""

    used: str | None
    next: str | None
    rows: int
    done: int
    untidy: int


class Switching(Protocol):
    """The part of a store that a switch asks. The store's own model is the next one."""

    def switching(self) -> AbstractAsyncContextManager[UUID | None]:
        """The only switch of the database meanwhile: its run, or None when the model is in use already; a run that was
        interrupted goes on, one to another model is given up. Raises Conflict while another process holds it."""
        ...

    async def tally(self) -> Tally: ...

    async def unswept(self, run: UUID) -> list[Scope]:
        """The spaces that changed since they were swept."""
        ...

    async def sweep(self, scope: Scope, run: UUID) -> Revision | None:
        """Begin to sweep a space: the revision up to which it is swept; None where there is no such space."""
        ...

    async def strangers(
        self, scope: Scope, since: Revision, until: Revision | None, after: MemoryId, limit: int
    ) -> tuple[Revision, list[Stranger]]:
        """The space's revision, and what was changed after `since`, not after `until`, and is a stranger; by id, from
        `after` on."""
        ...

    async def revector(self, scope: Scope, run: UUID, found: Sequence[Stranger], vectors: Sequence[Vector]) -> None:
        """Give strangers their vectors, beside those in use; what has another text by now is left alone. Not a change.

        Raises Conflict when another switch has begun."""
        ...

    async def swept(self, scope: Scope, run: UUID, rev: Revision) -> None:
        """Note that nothing of the space up to this revision is a stranger; not where it was erased since the sweep began."""
        ...

    async def cut_over(self, run: UUID, last: Callable[[], Awaitable[None]]) -> None:
        """Let the writers wait while `last` sweeps what came in between, and put the next model into use.

        Conflict when the writers do not let it, or something is left; then nothing is changed."""
        ...

    async def tidy(self, scope: Scope) -> int:
        """Put the vectors in use where they belong, and drop those that no switch needs; how many rows. Not a change."""
        ...

    async def sample(self, scope: Scope, limit: int) -> list[Held]:
        """So many active memories of the space."""
        ...

    async def closest(
        self, scope: Scope, model: str, vector: Vector, limit: int, but: MemoryId | None = None
    ) -> list[Held]:
        """The active memories that are closest to a vector of a model, but for one."""
        ...
