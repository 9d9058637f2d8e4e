"""The indexes of large spaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from muniment.memory.config.settings import Settings
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.maintenance import IndexingResult
from muniment.memory.domain.scope import Scope
from muniment.memory.ports.jobs import JobQueue
from muniment.memory.ports.operation.maintenance import MaintenanceStore
from muniment.memory.ports.reads import MemoryReads


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Indexes:
    """Builds the indexes of spaces that have grown, rebuilds them after changes, and drops those of smaller spaces."""

    jobs: JobQueue
    maintenance: MaintenanceStore
    reads: MemoryReads
    settings: Settings

    async def index_space(self, scope: Scope, *, drop: bool) -> IndexingResult:
        """Build or rebuild the indexes of a space with at least `recall.index_from` memories; drop those of a smaller
        one, and with `drop` of any. Raises NotFound, Conflict while another process builds indexes, StoreError."""
        if drop:
            return await self.maintenance.unindex_space(scope)
        return await self.maintenance.index_space(scope, self.settings.recall.index_from, force=True)

    async def index_spaces(
        self, on_progress: Callable[[int], None] | None, *, drop: bool
    ) -> dict[Scope, IndexingResult]:
        """Do the same for every space. Returns the results of spaces that have indexes, or whose indexes changed.

        `on_progress` is called with 1 after each space."""
        results: dict[Scope, IndexingResult] = {}
        async for scope in self.reads.list_spaces():
            result = await self.index_space(scope, drop=drop)
            if result.indexed or result.made or result.full:
                results[scope] = result
            if on_progress:
                on_progress(1)
        return results

    async def perform_indexing(self, scope: Scope, _key: str) -> IndexingResult:
        """Perform the job `index`: indexes of a space that has changed little stay as they are."""
        return await self.maintenance.index_space(scope, self.settings.recall.index_from)

    async def enqueue_overgrown(self) -> None:
        """Enqueue a job `index` for every space whose indexes may have to change."""
        scopes = await self.maintenance.find_spaces_to_index(self.settings.recall.index_from)
        await self.jobs.enqueue_jobs([Job(name="index", scope=scope) for scope in scopes])
