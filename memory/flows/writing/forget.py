"""What a person asks to forget meets what is known."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import Memory
from muniment.memory.domain.plan import Change
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.search import Probe, Search
from muniment.memory.domain.turn import Turn, Wish
from muniment.memory.flows.house import House
from muniment.memory.flows.reading.recall import prepare
from muniment.memory.flows.writing.lifecycle import forgotten
from muniment.memory.rules.extraction.forget_requests import meant, refusal

_TOLD = 3  # of the wishes of a turn that came to nothing
Sought = tuple[Wish, Search | None]


async def sought(house: House, wishes: Sequence[Wish]) -> tuple[Sought, ...]:
    """The wishes with what finds the memories that they are about, where anything can."""
    return tuple(
        [
            (one, await prepare(house, Query(text=one.words), tuple(house.categories)) if one.words else None)
            for one in wishes
        ]
    )


async def granted(
    house: House, scope: Scope, wishes: Sequence[Sought], changes: Sequence[Change]
) -> tuple[tuple[Change, ...], tuple[Wish, ...]]:
    """The soft deletions that the wishes come to, and the wishes that come to nothing. What the same turn changes stays."""
    touched = {change.after.id for change in changes}
    gone: dict[MemoryId, Change] = {}
    unmet = []
    for wish, search in wishes:
        found = meant(wish, await _near(house, scope, wish, search)) if search else []
        gone |= {one.id: forgotten(house, one) for one in found if one.id not in touched}
        if not found:
            unmet.append(wish)
    return tuple(gone.values()), tuple(unmet)


async def told(house: House, scope: Scope, unmet: Sequence[Wish], turns: Sequence[Turn]) -> tuple[str, ...]:
    """A sentence for each of the first wishes that came to nothing; none where the turn was taken before, and a wish of it was met then."""
    if not unmet or await house.store.known(scope, [one.id for one in turns]):
        return ()
    return tuple(refusal(one, scope.owner) for one in unmet[:_TOLD])


async def _near(house: House, scope: Scope, wish: Wish, search: Search) -> list[Memory]:
    sight = await house.store.look(house.owner(scope), search)
    found = {one.memory.id: one.memory for one in sight.found}
    if keys := (*wish.keys, *(one.attribute for one in wish.facts)):
        probes = [Probe(vector=search.vector, kind="semantic", attribute=one) for one in keys]
        _, kin = await house.store.near(scope, probes, 1)
        found |= {one.memory.id: one.memory for some in kin for one in some}
    return list(found.values())
