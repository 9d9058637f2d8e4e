"""What candidates meet: the memories near them, by likeness, and by words where the embedder does not know the script."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.memory.domain.ids import Revision, Vector
from muniment.memory.domain.memory import Neighbour
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.search import NeighbourProbe
from muniment.memory.domain.turn import Candidate
from muniment.memory.flows.house import House
from muniment.memory.rules.language.tokens import is_legible


async def find_neighbours(
    house: House, scope: Scope, candidates: Sequence[Candidate], vectors: Sequence[Vector]
) -> tuple[Revision, list[tuple[Neighbour, ...]]]:
    """The space's revision, and the neighbours of each candidate."""
    probes = [
        NeighbourProbe(
            vector=vector,
            kind=one.kind,
            stable_key=one.fact.key if one.fact else None,
            attribute=one.fact.attribute if one.fact else None,
        )
        for one, vector in zip(candidates, vectors, strict=True)
    ]
    most = house.settings.write.neighbours
    rev, near = await house.store.find_neighbours(scope, probes, most)
    unknown = [n for n, one in enumerate(candidates) if not is_legible(house.profile.scripts, one.text)]
    if unknown:
        # After the revision was read: what another writer adds in between makes the plan outdated, as with `near`.
        asked = [(candidates[n].kind, candidates[n].text) for n in unknown]
        for n, some in zip(unknown, await house.store.find_neighbours_by_words(scope, asked, most), strict=True):
            there = {item.memory.id for item in near[n]}
            near[n] += tuple(item for item in some if item.memory.id not in there)
    return rev, near
