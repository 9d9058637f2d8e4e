"""The embedder port, and what a switch of the embedder needs of a store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol
from uuid import UUID

from muniment.memory.domain.embedding import DATABASE, MemoryText, SwitchProgress, SwitchRange, UnembeddedRow
from muniment.memory.domain.ids import MemoryId, Revision, Vector
from muniment.memory.domain.scope import Scope


class EmbedderSwitchStore(Protocol):
    """A switch to the store's own model, while the vectors of a range of spaces come from others."""

    def acquire_switch(self, within: SwitchRange = DATABASE) -> AbstractAsyncContextManager[UUID | None]:
        """Hold the only switch of the database: enter with its run, or None when the range has the model already.

        An interrupted run to the same model goes on, one to another model is abandoned. Raises Busy while another
        process holds it."""
        ...

    async def count_vectors(self, within: SwitchRange) -> SwitchProgress:
        """Return the models in use and next, and how many rows have which vectors."""
        ...

    async def list_remaining_spaces(
        self, within: SwitchRange, changed_since: UUID | None = None
    ) -> list[tuple[Scope, str | None]]:
        """Return the spaces of another model, each with that one; of a run, those that changed since it embedded
        them."""
        ...

    async def begin_space(self, scope: Scope, run: UUID) -> Revision | None:
        """Begin to embed a space. Returns the revision up to which it is embedded; None when it does not exist."""
        ...

    async def list_unembedded(
        self, scope: Scope, since: Revision, until: Revision | None, after: MemoryId, limit: int
    ) -> tuple[Revision, list[UnembeddedRow]]:
        """Return the space's revision, and a page of the rows without a vector of the model that changed after `since`
        and not after `until`, by id. `since` 0 reads the whole space."""
        ...

    async def write_vectors(self, scope: Scope, run: UUID, pairs: Sequence[tuple[UnembeddedRow, Vector]]) -> None:
        """Write vectors of the next model beside those in use. A row whose text has changed stays as it is.

        This is no change of the space. Raises Conflict when another switch has begun."""
        ...

    async def mark_embedded(self, scope: Scope, run: UUID, rev: Revision) -> None:
        """Note that the space is embedded up to this revision, unless it was erased since `begin_space`."""
        ...

    async def activate_in_space(self, scope: Scope, run: UUID, embed_rest: Callable[[], Awaitable[None]]) -> None:
        """Pause the writers of a space, await `embed_rest` for what came in between, and give the space the model.

        Raises Conflict when the writers cannot be paused or something is left; then nothing is changed."""
        ...

    async def finish_switch(self, run: UUID, within: SwitchRange, embed_rest: Callable[[], Awaitable[None]]) -> None:
        """End the run; of more than one space, give new spaces of the range the model, and with it those that were
        founded since: all writers are paused, and `embed_rest` awaited. Raises Conflict as `activate_in_space`."""
        ...

    async def clean_vectors(self, scope: Scope) -> int:
        """Move the vectors in use into their own column and drop those that no switch needs; return how many rows.

        This is no change of the space."""
        ...

    async def sample_memories(self, scope: Scope, limit: int) -> list[MemoryText]:
        """Return `limit` active memories of the space."""
        ...

    async def find_closest(
        self, scope: Scope, model: str, vector: Vector, limit: int, excluded: MemoryId | None = None
    ) -> list[MemoryText]:
        """Return the active memories closest to a vector of a model, without `excluded`."""
        ...


class Embedder(Protocol):
    """A model that turns texts into unit vectors. `name` is stored beside every vector."""

    @property
    def name(self) -> str:
        """The model's name, the same in every process."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return one unit vector for each text."""
        ...

    async def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a question; zero when the model can read nothing of it."""
        ...

    async def close(self) -> None:
        """Release the model."""
        ...
