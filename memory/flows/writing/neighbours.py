"""The neighbours of candidates: by a query, or from what is held of a space that this process writes into often."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TypeAlias

from muniment.memory.domain.ids import NO_VECTOR, Revision, SpaceId
from muniment.memory.domain.memory import Neighbour
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.search import NeighbourProbe
from muniment.memory.errors import Conflict
from muniment.memory.flows.process_state import HeldSpace, ProcessCache
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.merging.space_index import SpaceIndex

_WRITES = 3  # in a row, after which a space is held
_PAUSE_SECONDS = 10.0  # which ends a row of writes
_HELD_SECONDS = 60.0
_MAX_SPACES = 16
_MAX_MEMORIES = 5_000  # of a space that is held: about 10 MB
_MAX_COUNTED = 10_000  # spaces whose writes are counted
_WRITES_AFTER_CONFLICT = -20  # so many writes more before a space that another process writes into is held again

FoundNeighbours: TypeAlias = tuple[Revision, list[tuple[Neighbour, ...]]]  # of each candidate of a draft


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NeighbourFinder:
    """Finds the neighbours of candidates. The caller holds the lock of the space.

    A space is held after some writes in a row, and for a minute at most: what changes without a revision, such as a
    vector that is made later, is seen by then. A plan from what is held is committed against its revision; where
    another process has written meanwhile, that is a Conflict, and the plan is made again by a query."""

    cache: ProcessCache
    embedder: Embedder
    reads: MemoryReads

    async def find_neighbours(self, scope: Scope, probes: Sequence[NeighbourProbe], most: int) -> FoundNeighbours:
        """Return the revision of the space and the neighbours of each probe, as the port's `find_neighbours` does."""
        index = None if any(probe.vector is NO_VECTOR for probe in probes) else await self._find_index(scope)
        if index is None:
            return await self.reads.find_neighbours(scope, probes, most)
        rankings = [index.rank_neighbours(probe, most) for probe in probes]
        if missing := index.list_missing(rankings):
            graph = await self.reads.read_members(scope, missing)
            if graph.rev != index.rev:
                self.drop_outdated(scope)
                return await self.reads.find_neighbours(scope, probes, most)
            index.hold_memories(graph.memories.values())
        return index.rev, [index.build_neighbours(ranking) for ranking in rankings]

    async def confirm_revision(self, scope: Scope) -> None:
        """Check that what is held of the space is not outdated, before an answer that commits nothing. Raises
        Conflict."""
        held = self.cache.held_spaces.get(scope.space)
        if held is None or held.index is None:
            return
        rev, _ = await self.reads.find_neighbours(scope, (), 0)
        if rev != held.index.rev:
            self.drop_outdated(scope)
            raise Conflict

    def apply_receipt(self, scope: Scope, receipt: Receipt) -> None:
        """Change what is held of the space by what was committed."""
        held = self.cache.held_spaces.get(scope.space)
        if held and held.index and not held.index.apply_changes(receipt.rev, receipt.changes):
            del self.cache.held_spaces[scope.space]

    def drop_outdated(self, scope: Scope) -> None:
        """Drop what is held of a space that another writer has changed."""
        if self.cache.held_spaces.pop(scope.space, None):
            self.cache.write_counts[scope.space] = _WRITES_AFTER_CONFLICT, monotonic()

    async def _find_index(self, scope: Scope) -> SpaceIndex | None:
        """Return what is held of the space for this embedder; None where it is not held."""
        now, space, held_spaces = monotonic(), scope.space, self.cache.held_spaces
        held = held_spaces.get(space)
        if held and held.model == self.embedder.name and now < held.until:
            return held.index
        count, last = self.cache.write_counts.get(space, (0, now))
        count = count + 1 if now - last < _PAUSE_SECONDS else 1
        if len(self.cache.write_counts) >= _MAX_COUNTED:
            self.cache.write_counts.clear()
        self.cache.write_counts[space] = count, now
        if count < _WRITES:
            return None
        packed = await self.reads.read_packed(scope, _MAX_MEMORIES)
        held_spaces.pop(space, None)
        if len(held_spaces) >= _MAX_SPACES:
            del held_spaces[next(iter(held_spaces))]
        held = HeldSpace(
            model=self.embedder.name, index=SpaceIndex(packed) if packed else None, until=monotonic() + _HELD_SECONDS
        )
        held_spaces[space] = held
        asyncio.get_running_loop().call_later(_HELD_SECONDS, self._drop_expired, space, held)
        return held.index

    def _drop_expired(self, space: SpaceId, held: HeldSpace) -> None:
        if self.cache.held_spaces.get(space) is held:
            del self.cache.held_spaces[space]
