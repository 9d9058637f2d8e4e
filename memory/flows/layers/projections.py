"""Projections: what the memories of a space say slot by slot, now or at a revision, and making that anew."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime

from muniment.memory.codec import check_range
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.layers.projections import (
    Lineage,
    Projection,
    ProjectionRequest,
    RebuildResult,
    matches_request,
)
from muniment.memory.domain.memory import STATES, StoredMemory
from muniment.memory.domain.query import ListRequest
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.errors import BadInput, NotFound
from muniment.memory.flows.reading.memories import MemoryBrowser
from muniment.memory.ports.layers.observations import ObservationStore
from muniment.memory.ports.layers.projections import ProjectionStore
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.projections.types import TYPES

_PAGE = 1_000  # memories that are read at once
_MAX_LISTED = 1_000
_MAX_TURNS = 50  # of one memory, the latest
_BEGINNING = re.compile(r"[0-9a-f]{1,8}(?:[0-9a-f-]{0,28})")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Projections:
    """Lists and rebuilds projections. They are kept by each commit; a space that lags behind is made anew first."""

    browser: MemoryBrowser
    ledger: TurnLedger
    observations: ObservationStore
    projection_store: ProjectionStore
    reads: MemoryReads
    settings: Settings

    async def list_projections(
        self,
        scope: Scope,
        request: ProjectionRequest,
        as_of: Revision | datetime | None = None,
        allowed: AbstractSet[str] | None = None,
    ) -> list[Projection]:
        """Return projections slot by slot, the active one first; with `allowed` only those of memories of these
        categories. Raises BadInput for an unknown type."""
        if unknown := sorted(set(request.types) - TYPES.keys()):
            raise BadInput(f"unknown type {unknown[0][:40]!r}; allowed: {', '.join(sorted(TYPES))}")
        check_range("limit", request.limit, 1, _MAX_LISTED)
        check_range("offset", request.offset, 0, 2**31 - 1)
        owner = self.settings.make_owner_reader(scope, self.browser.clock.now())
        reader = owner if allowed is None else replace(owner, allowed=owner.allowed & allowed)
        if as_of is None:
            await self.refresh_lagging(scope)
            return await self.projection_store.list_projections(reader, request)
        memories = await self._read_then(owner, await self.browser.resolve_revision(scope, as_of))
        ranked = await self.projection_store.rank_memories(memories)
        visible = [projection for projection in ranked if projection.category in reader.allowed]
        chosen = [projection for projection in visible if matches_request(projection, request)]
        return chosen[request.offset : request.offset + request.limit]

    async def list_slot(self, scope: Scope, given: str) -> list[Projection]:
        """Return all projections of a slot, by the beginning of the id of a projection in it, or of a memory.

        Raises NotFound, BadInput for the beginning of several slots."""
        one = await self.find_projection(scope, given)
        return await self.list_projections(scope, ProjectionRequest(types=(one.type,), key=one.key, limit=_MAX_LISTED))

    async def find_projection(self, scope: Scope, given: str, type_: str | None = None) -> Projection:
        """Return the projection, of a type if one is given, whose id begins so, or the id of its memory.

        Raises NotFound, BadInput for the beginning of several."""
        start = given.strip().lower()
        if not _BEGINNING.fullmatch(start):
            raise BadInput(f"{given[:40]!r} is neither an id nor the beginning of one")
        request = ProjectionRequest(
            types=(type_,) if type_ else (), beginning=start.replace("-", ""), limit=_MAX_LISTED
        )
        found = await self.list_projections(scope, request)
        if not found:
            raise NotFound(f"no {type_ or 'projection'} {given!r} in the space of {scope.owner!r}", id=given)
        if len({(each.type, each.key) for each in found}) > 1 or (type_ and len(found) > 1):
            raise BadInput(f"{given!r} is the beginning of {len(found)} projections: give more of the id")
        return found[0]

    async def list_conflicts(self, scope: Scope) -> list[list[Projection]]:
        """Return the slots in which memories that are trusted as much as the active one say something else."""
        disputed = await self.list_projections(scope, ProjectionRequest(statuses=("conflict",), limit=_MAX_LISTED))
        slots: dict[tuple[str, str], None] = dict.fromkeys((each.type, each.key) for each in disputed)
        return [
            await self.list_projections(
                scope, ProjectionRequest(types=(type_,), key=key, statuses=("active", "conflict"), limit=_MAX_LISTED)
            )
            for type_, key in slots
        ]

    async def trace_lineage(self, scope: Scope, memory_id: MemoryId) -> Lineage:
        """Return what a memory comes from and what it is part of. Raises NotFound."""
        memory = await self.browser.get_memory(scope, memory_id)
        reader = self.settings.make_owner_reader(scope)
        found = [await self.ledger.get_passage(scope, turn, before=0, after=0) for turn in memory.turns[-_MAX_TURNS:]]
        request = ProjectionRequest(memories=(memory.id,), limit=_MAX_LISTED)
        return Lineage(
            turns=tuple(sorted((passage.turn for passage in found if passage), key=lambda turn: turn.at)),
            observations=tuple(await self.observations.list_of_memory(reader, memory.id)),
            memory=memory,
            projections=tuple(await self.list_projections(scope, request)),
        )

    async def rebuild(self, scope: Scope) -> RebuildResult:
        """Make all projections of a space anew. Raises NotFound for an unknown space."""
        return await self.projection_store.rebuild(scope)

    async def refresh_lagging(self, scope: Scope) -> None:
        """Make the projections of a space anew that a process has changed which knows none."""
        if await self.projection_store.find_lag(scope):
            await self.projection_store.rebuild(scope)

    async def _read_then(self, reader: Reader, rev: Revision | None) -> Sequence[StoredMemory]:
        memories: list[StoredMemory] = []
        while True:
            listing = ListRequest(states=STATES, limit=_PAGE, offset=len(memories))
            page = await self.reads.list_memories(reader, listing, as_of=rev)
            memories += page.memories
            if len(page.memories) < _PAGE:
                return memories
