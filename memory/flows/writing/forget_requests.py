"""What a person asks to forget meets what is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import Memory
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

_MAX_EXPLAINED = 3  # of the wishes of a turn that came to nothing
RequestSearch = tuple[ForgetRequest, Search | None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ForgetRequests:
    """What a person asks to forget meets what is known."""

    ledger: TurnLedger
    lifecycle: Lifecycle
    reads: MemoryReads
    recall: Recall
    settings: Settings

    async def find_request_searches(self, wishes: Sequence[ForgetRequest]) -> tuple[RequestSearch, ...]:
        """The wishes with what finds the memories that they are about, where anything can."""
        return tuple(
            [
                (
                    one,
                    await self.recall.prepare_search(Query(text=one.words), tuple(self.settings.categories))
                    if one.words
                    else None,
                )
                for one in wishes
            ]
        )

    async def resolve_requests(
        self, scope: Scope, wishes: Sequence[RequestSearch], changes: Sequence[Change]
    ) -> tuple[tuple[Change, ...], tuple[ForgetRequest, ...]]:
        """The soft deletions that the wishes come to, and the wishes that come to nothing. What the same turn changes stays."""
        touched = {change.after.id for change in changes}
        gone: dict[MemoryId, Change] = {}
        unmet = []
        for wish, search in wishes:
            found = resolve_forget_request(wish, await self._find_memories(scope, wish, search)) if search else []
            gone |= {one.id: self.lifecycle.make_deletion(one) for one in found if one.id not in touched}
            if not found:
                unmet.append(wish)
        return tuple(gone.values()), tuple(unmet)

    async def explain_unmet(
        self, scope: Scope, unmet: Sequence[ForgetRequest], turns: Sequence[Turn]
    ) -> tuple[str, ...]:
        """A sentence for each of the first wishes that came to nothing; none where the turn was taken before, and a wish of it was met then."""
        if not unmet or await self.ledger.find_consumed_turns(scope, [one.id for one in turns]):
            return ()
        return tuple(explain_refusal(one, scope.owner) for one in unmet[:_MAX_EXPLAINED])

    async def _find_memories(self, scope: Scope, wish: ForgetRequest, search: Search) -> list[Memory]:
        sight = await self.reads.read_snapshot(self.settings.make_owner_reader(scope), search)
        found = {one.memory.id: one.memory for one in sight.hits}
        if keys := (*wish.key_prefixes, *(one.attribute for one in wish.facts)):
            probes = [NeighbourProbe(vector=search.vector, kind="semantic", attribute=one) for one in keys]
            _, kin = await self.reads.find_neighbours(scope, probes, 1)
            found |= {one.memory.id: one.memory for some in kin for one in some}
        return list(found.values())
