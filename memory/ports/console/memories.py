"""The port of the pages of memories in the console."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from muniment.memory.domain.console.memories import MemoryFacets, MemoryVersion, Recall
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.scope import Reader, Scope


class MemoryPageReads(Protocol):
    """What the pages of memories read beside the memories themselves. A Reader's allowlist hides every other
    category."""

    async def list_versions(self, reader: Reader, memory_id: MemoryId, limit: int) -> Sequence[MemoryVersion]:
        """Return the journal of a memory, newest first, each line with the memory as it was then."""
        ...

    async def list_recalls(self, scope: Scope, texts: Sequence[Sequence[int]], limit: int) -> Sequence[Recall]:
        """Return the turns, newest first, at which memory had put all of one of these texts before a model, each text
        given by the hashes of its word sequences."""
        ...

    async def list_facets(self, reader: Reader, limit: int) -> MemoryFacets:
        """Return the most frequent sources and agents of the memories, at most `limit` of each."""
        ...
