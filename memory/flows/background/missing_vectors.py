"""The vectors of memories that were written while the embedder was away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from muniment.memory.config.schema import EmbedderProfile
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId, Vector
from muniment.memory.domain.memory import compose_document, is_note
from muniment.memory.domain.plan import Receipt, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.search import NeighbourProbe
from muniment.memory.errors import Conflict
from muniment.memory.flows.process_state import AvailableEmbedder
from muniment.memory.flows.writing.plan import PlanCommitter, Rejections
from muniment.memory.flows.writing.vectors import VectorCache, embed_changes
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.operation.maintenance import MaintenanceStore
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.merging.late_merge import merge_stored

_BATCH = 64  # texts that are embedded at once


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MissingVectors:
    """Makes the vectors that are missing in a space, and merges the memories that get one."""

    available_embedder: AvailableEmbedder
    clock: Clock
    committer: PlanCommitter
    embedder: Embedder
    maintenance: MaintenanceStore
    profile: EmbedderProfile
    reads: MemoryReads
    settings: Settings

    async def embed_missing(self, scope: Scope) -> int:
        """Perform the job `embed`, and return how many memories and former versions got a vector.

        After a crash between the vectors and the merging, the next consolidation compares what has changed. Raises
        ModelError while the embedder is away, WrongEmbedder, StoreError."""
        count = 0
        while page := await self.maintenance.list_unembedded(scope, _BATCH):
            documents = list(dict.fromkeys(row.document for row in page))
            vectors = dict(zip(documents, await self.embedder.embed_documents(documents), strict=True))
            self.available_embedder.note_success()
            await self.maintenance.write_vectors(scope, [(row, vectors[row.document]) for row in page])
            await self._merge_memories(scope, {row.id: row.document for row in page if not row.since}, vectors)
            count += len(page)
        return count

    async def _merge_memories(
        self, scope: Scope, documents: Mapping[MemoryId, str], vectors: Mapping[str, Vector]
    ) -> None:
        """Merge the memories one after another, in the order in which they were said."""
        graph = await self.reads.read_members(scope, list(documents))
        for memory in sorted(graph.memories.values(), key=lambda memory: memory.rev):
            document = documents[memory.id]
            make_plan = partial(self._plan_merge, scope, memory.id, document, vectors[document])
            await self.committer.commit_with_retry(scope, make_plan)

    async def _plan_merge(
        self, scope: Scope, memory_id: MemoryId, document: str, vector: Vector, cache: VectorCache
    ) -> tuple[WritePlan, Rejections] | Receipt:
        """Return the plan that merges a memory with what is near to it. One that has ended or changed since it was
        embedded stays as it is, and so does how-to memory."""
        graph = await self.reads.read_members(scope, [memory_id])
        memory = graph.memories.get(memory_id)
        if memory is None or memory.state != "active" or memory.kind == "procedural":
            return Receipt(rev=graph.rev)
        if compose_document(memory.text, memory.aliases) != document:
            return Receipt(rev=graph.rev)
        attribute = memory.fact.attribute if memory.fact and not is_note(memory.fact) else None
        probe = NeighbourProbe(
            vector=vector,
            kind=memory.kind,
            stable_key=memory.stable_key,
            attribute=attribute,
            place=memory.place,
        )
        rev, [neighbours] = await self.reads.find_neighbours(scope, [probe], self.settings.write.neighbours + 1)
        if rev != graph.rev:
            raise Conflict
        writing = self.settings.write
        merged = merge_stored(memory, vector, neighbours, scope=scope, profile=self.profile, writing=writing)
        if not merged.changes:
            return Receipt(rev=rev)
        plan = WritePlan(
            scope=scope,
            expected_rev=rev,
            node="worker",
            at=self.clock.now(),
            changes=embed_changes(merged.changes, [memory], cache),
            relations=merged.relations,
        )
        return plan, Rejections()
