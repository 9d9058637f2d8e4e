"""The read port: memories, searches, history and counts of a space."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any, Protocol

from muniment.memory.domain.consolidation import MemoryGraph
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.journal import JournalEntry
from muniment.memory.domain.memory import Kind, Neighbour, StoredMemory
from muniment.memory.domain.query import ListRequest, MemoryPage
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.search import NeighbourProbe, PackedMemories, Search, SearchSnapshot


class MemoryReads(Protocol):
    """Reads of one space, each of them at one revision. A Reader's allowlist hides every other category."""

    async def read_snapshot(
        self,
        reader: Reader,
        search: Search | None,
        *,
        stable: Sequence[str] = (),
        stable_limit: int = 100,
        thread: str | None = None,
        horizon: datetime | None = None,
        as_of: Revision | None = None,
    ) -> SearchSnapshot:
        """Run a search, list the stable memories of the categories `stable`, and list the changes after the cursor of
        `thread`.

        All parts are of one revision: the last one, or `as_of` with the profile values approved by then. A thread
        without a cursor gets the changes since `horizon`. Of very many changed memories the most important, then the
        latest, are listed."""
        ...

    async def get_memory(
        self, reader: Reader, memory_id: MemoryId, *, as_of: Revision | None = None
    ) -> StoredMemory | None:
        """Return the memory in any state, as it is or as it was at a revision; None when it does not exist."""
        ...

    async def read_members(self, scope: Scope, ids: Sequence[MemoryId]) -> MemoryGraph:
        """Return the memories with these ids as they are now, with their edges."""
        ...

    async def find_related(self, reader: Reader, memory_id: MemoryId, limit: int) -> list[Neighbour]:
        """Return the active memories with an edge to this one, strongest first; `sim` is the edge's strength."""
        ...

    async def list_memories(self, reader: Reader, listing: ListRequest, *, as_of: Revision | None = None) -> MemoryPage:
        """Return a page of memories as they are, or as they were at a revision."""
        ...

    async def read_history(self, reader: Reader, memory_id: MemoryId | None, limit: int) -> list[JournalEntry]:
        """Return the journal lines of a memory, or of the whole space, newest first."""
        ...

    async def find_neighbours(
        self, scope: Scope, probes: Sequence[NeighbourProbe], limit: int
    ) -> tuple[Revision, list[tuple[Neighbour, ...]]]:
        """Return the space's revision and, for each probe, its active neighbours of the same kind and place, closest
        first.

        Neighbours share the stable key or the attribute, or are among the `limit` closest by cosine; none comes
        twice."""
        ...

    async def read_packed(self, scope: Scope, limit: int) -> PackedMemories | None:
        """Return what finds the active memories of a space, with their vectors; None when there are more than
        `limit`."""
        ...

    async def find_neighbours_by_words(
        self, scope: Scope, probes: Sequence[tuple[Kind, str | None, str]], limit: int
    ) -> list[tuple[Neighbour, ...]]:
        """Return for each kind, place and text the active memories of that kind and place that share most of its words;
        `sim` is 0.0."""
        ...

    async def find_revision_at(self, scope: Scope, moment: datetime) -> Revision:
        """Return the revision that the space had at this time; 0 before its first change."""
        ...

    async def read_status(self, scope: Scope) -> dict[str, Any]:
        """Return the counts of the space, its revision, its maintenance, the server's version and the embedder."""
        ...

    def list_spaces(self) -> AsyncIterator[Scope]:
        """Yield the scope of every space of the database. For maintenance only."""
        ...
