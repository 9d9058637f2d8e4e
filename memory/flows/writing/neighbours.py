"""What candidates meet: the memories near them, by likeness, and by words where the embedder does not know the script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muniment.memory.config.schema import EmbedderProfile
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision, Vector
from muniment.memory.domain.memory import Neighbour
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.search import NeighbourProbe
from muniment.memory.domain.turn import Candidate
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.language.tokens import is_legible


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NeighbourFinder:
    """What candidates meet: the memories near them, by likeness, and by words where the embedder does not know the script."""

    profile: EmbedderProfile
    reads: MemoryReads
    settings: Settings

    async def find_neighbours(
        self, scope: Scope, candidates: Sequence[Candidate], vectors: Sequence[Vector]
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
        most = self.settings.write.neighbours
        rev, near = await self.reads.find_neighbours(scope, probes, most)
        unknown = [n for n, one in enumerate(candidates) if not is_legible(self.profile.scripts, one.text)]
        if unknown:
            # After the revision was read: what another writer adds in between makes the plan outdated, as with `near`.
            asked = [(candidates[n].kind, candidates[n].text) for n in unknown]
            for n, some in zip(unknown, await self.reads.find_neighbours_by_words(scope, asked, most), strict=True):
                there = {item.memory.id for item in near[n]}
                near[n] += tuple(item for item in some if item.memory.id not in there)
        return rev, near
