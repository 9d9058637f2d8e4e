"""The port of projections: rows that each commit keeps, and that can be made anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from muniment.memory.domain.layers.projections import Projection, ProjectionRequest, RebuildResult
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.scope import Reader, Scope


class ProjectionStore(Protocol):
    """The projections of a space. A Reader's allowlist hides every other category."""

    async def list_projections(self, reader: Reader, request: ProjectionRequest) -> list[Projection]:
        """Return projections by type, key and status, the active one of a slot first.

        They are as if the memories that have expired by `reader.at`, without one by now, were gone already."""
        ...

    async def rank_memories(self, memories: Sequence[StoredMemory]) -> list[Projection]:
        """Return the projections that a space of these memories has, in the same order. Nothing is written."""
        ...

    async def find_lag(self, scope: Scope) -> int:
        """Return how many revisions of the space are not projected; 0 for a space that does not exist."""
        ...

    async def rebuild(self, scope: Scope) -> RebuildResult:
        """Make all projections of a space anew from its memories, in one transaction. Raises NotFound."""
        ...
