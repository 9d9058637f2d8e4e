"""Requests to forget, as the soft deletions of the memories that they are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import StoredMemory, list_places
from muniment.memory.domain.plan import Change
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.search import NeighbourProbe, Search
from muniment.memory.domain.turn import ForgetRequest, Turn
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.extraction.forget_requests import explain_refusal, resolve_forget_request

_MAX_EXPLAINED = 3  # unmet requests of a turn that are explained


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Forgetting:
    """Finds the memories that requests to forget are about."""

    clock: Clock
    ledger: TurnLedger
    reads: MemoryReads
    settings: Settings

    async def resolve_requests(
        self,
        scope: Scope,
        requests: Sequence[tuple[ForgetRequest, Search | None]],
        turns: Sequence[Turn],
        changes: Sequence[Change],
    ) -> tuple[tuple[Change, ...], tuple[str, ...]]:
        """Return the soft deletions that the requests of `turns` ask for, and a sentence for each of the first three
        that no memory matches. A request without a search matches none.

        A memory that `changes` touch is not deleted. A turn that was consumed before gets no sentence: its requests may
        have been met then."""
        touched = {change.after.id for change in changes}
        deletions: dict[MemoryId, Change] = {}
        unmet = []
        for request, search in requests:
            memories = (
                resolve_forget_request(request, await self._find_memories(scope, request, search)) if search else ()
            )
            deletions |= {
                each.id: make_deletion(each, self.clock.now(), self.settings)
                for each in memories
                if each.id not in touched
            }
            if not memories:
                unmet.append(request)
        if not unmet or await self.ledger.find_consumed_turns(scope, [turn.id for turn in turns]):
            return tuple(deletions.values()), ()
        return tuple(deletions.values()), tuple(
            explain_refusal(request, scope.owner) for request in unmet[:_MAX_EXPLAINED]
        )

    async def _find_memories(self, scope: Scope, request: ForgetRequest, search: Search) -> list[StoredMemory]:
        reader = self.settings.make_owner_reader(scope, self.clock.now())
        snapshot = await self.reads.read_snapshot(reader, search)
        memories = {hit.memory.id: hit.memory for hit in snapshot.hits}
        if keys := (*request.key_prefixes, *(fact.attribute for fact in request.facts)):
            probes = [
                NeighbourProbe(vector=search.vector, kind="semantic", attribute=key, place=place)
                for key in keys
                for place in list_places(scope)
            ]
            _, neighbours = await self.reads.find_neighbours(scope, probes, 1)
            memories |= {each.memory.id: each.memory for near in neighbours for each in near}
        return list(memories.values())


def make_deletion(memory: StoredMemory, at: datetime, settings: Settings) -> Change:
    """Return the soft deletion of a memory."""
    purge_at = at + timedelta(days=settings.write.soft_delete_days)
    after = replace(memory, state="soft_deleted", purge_at=purge_at, updated_at=at)
    return Change(action="DELETE", before=memory, after=after, meta={"why": "forget"})
