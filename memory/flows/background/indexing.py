"""The indexes of large spaces: made when a space has grown, made anew when it has changed, dropped when it has shrunk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from muniment.memory.config.settings import Settings
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.maintenance import IndexingResult
from muniment.memory.domain.scope import Scope
from muniment.memory.ports.jobs import JobQueue
from muniment.memory.ports.maintenance import MaintenanceStore
from muniment.memory.ports.reads import MemoryReads


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Indexes:
    """The indexes of large spaces: made when a space has grown, made anew when it has changed, dropped when it has shrunk."""

    jobs: JobQueue
    maintenance: MaintenanceStore
    reads: MemoryReads
    settings: Settings

    async def index_space(self, scope: Scope, *, drop: bool) -> IndexingResult:
        """See `Memory.index`."""
        if drop:
            return await self.maintenance.unindex_space(scope)
        return await self.maintenance.index_space(scope, self.settings.recall.index_from, force=True)

    async def index_spaces(
        self, on_progress: Callable[[int], None] | None, *, drop: bool
    ) -> dict[Scope, IndexingResult]:
        """See `Memory.index_all`."""
        done: dict[Scope, IndexingResult] = {}
        async for scope in self.reads.list_spaces():
            found = await self.index_space(scope, drop=drop)
            if found.indexed or found.made or found.full:
                done[scope] = found
            if on_progress:
                on_progress(1)
        return done

    async def perform_indexing(self, scope: Scope, _key: str) -> IndexingResult:
        """The job: what has changed little is left as it is."""
        return await self.maintenance.index_space(scope, self.settings.recall.index_from)

    async def enqueue_overgrown(self) -> None:
        """Enqueue the spaces that have grown, or changed, too much."""
        grown = await self.maintenance.find_spaces_to_index(self.settings.recall.index_from)
        await self.jobs.enqueue_jobs([Job(name="index", scope=scope) for scope in grown])
