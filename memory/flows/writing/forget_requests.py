"""Finding the memories that a person asks to forget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Change
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.search import NeighbourProbe, Search
from muniment.memory.domain.turn import ForgetRequest, Turn
from muniment.memory.flows.reading.recall import Recall
from muniment.memory.flows.writing.lifecycle import Lifecycle
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.extraction.forget_requests import explain_refusal, resolve_forget_request

_MAX_EXPLAINED = 3  # unmet requests of a turn that are explained
RequestSearch = tuple[ForgetRequest, Search | None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ForgetRequests:
    """Finds the memories that a person asks to forget, and explains the requests that no memory matches."""

    ledger: TurnLedger
    lifecycle: Lifecycle
    reads: MemoryReads
    recall: Recall
    settings: Settings

    async def find_request_searches(self, requests: Sequence[ForgetRequest]) -> tuple[RequestSearch, ...]:
        """Return each request with the search for its memories; None for one without words to search by."""
        searches: list[RequestSearch] = []
        for request in requests:
            query = Query(text=request.words)
            search = await self.recall.prepare_search(query, tuple(self.settings.categories)) if query.text else None
            searches.append((request, search))
        return tuple(searches)

    async def resolve_requests(
        self, scope: Scope, searches: Sequence[RequestSearch], changes: Sequence[Change]
    ) -> tuple[tuple[Change, ...], tuple[ForgetRequest, ...]]:
        """Return the soft deletions that the requests ask for, and the requests that no memory matches.

        A memory that `changes` of the same turn touch is not deleted."""
        touched = {change.after.id for change in changes}
        deletions: dict[MemoryId, Change] = {}
        unmet = []
        for request, search in searches:
            memories = (
                resolve_forget_request(request, await self._find_memories(scope, request, search)) if search else ()
            )
            deletions |= {each.id: self.lifecycle.make_deletion(each) for each in memories if each.id not in touched}
            if not memories:
                unmet.append(request)
        return tuple(deletions.values()), tuple(unmet)

    async def explain_unmet(
        self, scope: Scope, unmet: Sequence[ForgetRequest], turns: Sequence[Turn]
    ) -> tuple[str, ...]:
        """Return a sentence for each of the first three unmet requests.

        A turn that was consumed before gets none: its requests may have been met then."""
        if not unmet or await self.ledger.find_consumed_turns(scope, [turn.id for turn in turns]):
            return ()
        return tuple(explain_refusal(request, scope.owner) for request in unmet[:_MAX_EXPLAINED])

    async def _find_memories(self, scope: Scope, request: ForgetRequest, search: Search) -> list[StoredMemory]:
        snapshot = await self.reads.read_snapshot(self.settings.make_owner_reader(scope), search)
        memories = {hit.memory.id: hit.memory for hit in snapshot.hits}
        if keys := (*request.key_prefixes, *(fact.attribute for fact in request.facts)):
            probes = [NeighbourProbe(vector=search.vector, kind="semantic", attribute=key) for key in keys]
            _, neighbours = await self.reads.find_neighbours(scope, probes, 1)
            memories |= {each.memory.id: each.memory for near in neighbours for each in near}
        return list(memories.values())
