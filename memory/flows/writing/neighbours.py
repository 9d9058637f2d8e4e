"""The memories near a candidate: by vector, and by words where the embedder does not know the script."""

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
    """Finds the memories near candidates."""

    profile: EmbedderProfile
    reads: MemoryReads
    settings: Settings

    async def find_neighbours(
        self, scope: Scope, candidates: Sequence[Candidate], vectors: Sequence[Vector]
    ) -> tuple[Revision, list[tuple[Neighbour, ...]]]:
        """Return the space's revision, and the neighbours of each candidate."""
        probes = [
            NeighbourProbe(
                vector=vector,
                kind=candidate.kind,
                stable_key=candidate.fact.key if candidate.fact else None,
                attribute=candidate.fact.attribute if candidate.fact else None,
            )
            for candidate, vector in zip(candidates, vectors, strict=True)
        ]
        most = self.settings.write.neighbours
        rev, neighbours = await self.reads.find_neighbours(scope, probes, most)
        if places := [n for n, each in enumerate(candidates) if not is_legible(self.profile.scripts, each.text)]:
            # After the revision was read: what another writer adds in between makes the plan a Conflict.
            texts = [(candidates[n].kind, candidates[n].text) for n in places]
            for n, matches in zip(places, await self.reads.find_neighbours_by_words(scope, texts, most), strict=True):
                ids = {neighbour.memory.id for neighbour in neighbours[n]}
                neighbours[n] += tuple(match for match in matches if match.memory.id not in ids)
        return rev, neighbours
