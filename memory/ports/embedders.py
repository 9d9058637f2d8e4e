"""The embedder port, and what a switch of the embedder needs of a store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol
from uuid import UUID

from muniment.memory.domain.embedding import MemoryText, SwitchProgress, UnembeddedRow
from muniment.memory.domain.ids import MemoryId, Revision, Vector
from muniment.memory.domain.scope import Scope


class EmbedderSwitchStore(Protocol):
    """The part of a store that a switch asks. The store's own model is the next one."""

    def acquire_switch(self) -> AbstractAsyncContextManager[UUID | None]:
        """The only switch of the database meanwhile: its run, or None when the model is in use already; a run that was
        interrupted goes on, one to another model is given up. Raises Conflict while another process holds it."""
        ...

    async def count_vectors(self) -> SwitchProgress: ...

    async def list_pending_spaces(self, run: UUID) -> list[Scope]:
        """The spaces that changed since they were swept."""
        ...

    async def begin_space(self, scope: Scope, run: UUID) -> Revision | None:
        """Begin to sweep a space: the revision up to which it is swept; None where there is no such space."""
        ...

    async def list_unembedded(
        self, scope: Scope, since: Revision, until: Revision | None, after: MemoryId, limit: int
    ) -> tuple[Revision, list[UnembeddedRow]]:
        """The space's revision, and what was changed after `since`, not after `until`, and is a stranger; by id, from
        `after` on."""
        ...

    async def write_vectors(
        self, scope: Scope, run: UUID, rows: Sequence[UnembeddedRow], vectors: Sequence[Vector]
    ) -> None:
        """Give strangers their vectors, beside those in use; what has another text by now is left alone. Not a change.

        Raises Conflict when another switch has begun."""
        ...

    async def mark_embedded(self, scope: Scope, run: UUID, rev: Revision) -> None:
        """Note that nothing of the space up to this revision is a stranger; not where it was erased since the sweep began."""
        ...

    async def activate_embedder(self, run: UUID, embed_rest: Callable[[], Awaitable[None]]) -> None:
        """Let the writers wait while `last` sweeps what came in between, and put the next model into use.

        Conflict when the writers do not let it, or something is left; then nothing is changed."""
        ...

    async def clean_vectors(self, scope: Scope) -> int:
        """Put the vectors in use where they belong, and drop those that no switch needs; how many rows. Not a change."""
        ...

    async def sample_memories(self, scope: Scope, limit: int) -> list[MemoryText]:
        """So many active memories of the space."""
        ...

    async def find_closest(
        self, scope: Scope, model: str, vector: Vector, limit: int, excluded: MemoryId | None = None
    ) -> list[MemoryText]:
        """The active memories that are closest to a vector of a model, but for one."""
        ...


class Embedder(Protocol):
    """Texts to unit vectors; of a question that the model cannot read at all, zero. `name` is stored beside every vector."""

    @property
    def name(self) -> str: ...

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]: ...

    async def embed_query(self, text: str) -> Vector: ...

    async def close(self) -> None: ...
