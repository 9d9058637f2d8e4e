"""The door of operators."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from uuid import UUID

from muniment.memory.domain.consolidation import Finding, Pair, Run, SpaceResult, UndoResult
from muniment.memory.domain.embedding import SwitchProgress
from muniment.memory.domain.erasure import ErasureReceipt, Traces
from muniment.memory.domain.ids import MemoryId, parse_memory_id
from muniment.memory.domain.maintenance import IndexingResult, MaintenanceResult
from muniment.memory.domain.memory import Memory as Record
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import SpaceActivity, UsageReport
from muniment.memory.engine import Engine
from muniment.memory.flows.background.derived import mentions_any
from muniment.memory.flows.background.reembed import EmbedderSwitch as EmbedderSwitch  # noqa: PLC0414 - a face says what it was given

OnProgress = Callable[[int], None]


class Admin:
    """What an operator does: consolidation, erasure, indexes, the embedder, usage, maintenance. It shares the engine of `Memory`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def consolidate(
        self,
        scope: Scope,
        *,
        dry: bool = False,
        limit: int | None = None,
        on_findings: Callable[[Sequence[Finding]], None] | None = None,
    ) -> Run | None:
        """Look for memories of the space that say the same, or are no longer so, and make one of two; its record, or None
        while another run is under way. `dry` writes nothing; `limit` pairs in place of `consolidation.per_day`; `tell` is
        called with what was found. A model that fails ends the run by its status. Raises BadInput, StoreError."""
        return await self.engine.consolidation.consolidate_space(scope, dry=dry, limit=limit, on_findings=on_findings)

    def consolidate_each(
        self, scopes: Iterable[Scope], *, dry: bool = False, limit: int | None = None, unchanged: bool = False
    ) -> AsyncIterator[SpaceResult]:
        """`consolidate` one space after another, telling of each as soon as it is done. One in which somebody else is at work is
        passed over, and one that has not changed since it was compared, unless `unchanged`. Raises BadInput, StoreError."""
        return self.engine.space_sweep.consolidate_each(scopes, dry=dry, limit=limit, unchanged=unchanged)

    async def begin_run(self, scope: Scope, *, dry: bool = False, limit: int | None = None) -> Run | None:
        """The first step of `consolidate`: a run, None while another one is under way. Raises BadInput, StoreError."""
        return await self.engine.consolidation.begin_run(scope, dry=dry, limit=limit)

    async def survey_run(self, run: Run) -> tuple[Run, Sequence[Sequence[Pair]]]:
        """The second step: the pairs to check, in portions of one prompt at most. Raises Conflict, StoreError."""
        surveyed, pairs = await self.engine.consolidation.survey_pairs(run)
        return surveyed, self.engine.consolidation.split_portions(pairs)

    async def check_run(self, run: Run, pairs: Sequence[Pair]) -> tuple[Run, Sequence[Finding]]:
        """What the pairs of a portion are found to be; a model that fails is told by the run's status. Raises StoreError."""
        return await self.engine.consolidation.check_pairs(run, pairs)

    async def apply_run(self, run: Run, findings: Sequence[Finding]) -> Run:
        """Do what was found, all or nothing; what changed meanwhile is left alone. Raises Conflict, StoreError."""
        return await self.engine.consolidation.apply_findings(run, findings)

    async def end_run(self, run: Run) -> Run:
        """The last step: the run's record as it stays. Raises Conflict, StoreError."""
        return await self.engine.consolidation.end_run(run)

    async def consolidations(self, scope: Scope, limit: int = 20, *, run: UUID | None = None) -> Sequence[Run]:
        """The records of the space's consolidations, the one under way and then the newest first; or that one, if there is
        such a one. Raises BadInput for a limit that cannot be."""
        return await self.engine.consolidation.list_runs(scope, limit, run)

    async def undo_consolidation(self, scope: Scope, run: UUID) -> UndoResult:
        """Make of what a consolidation changed what it was, but for what has changed since. Raises NotFound, BadInput for
        one that is undone already, Busy for one that is not over, Conflict, StoreError."""
        return await self.engine.run_undo.undo_consolidation(scope, run)

    async def cancel_consolidation(self, scope: Scope, run: UUID) -> Run:
        """Call off a run that waits for a batch endpoint: it is `cancelled`, what it held of the budget is free, the endpoint is
        told to stop and its files go; where that cannot be done now a worker does it. One that is cancelled already is as it
        is. Raises NotFound, BadInput for one that does not wait, Conflict, StoreError."""
        return await self.engine.batch_collection.cancel_consolidation(scope, run)

    async def get_many(self, scope: Scope, ids: Iterable[MemoryId]) -> Mapping[MemoryId, Record]:
        """Several memories by their ids, whatever their state, as they are now; those that are not there are left out."""
        return await self.engine.browser.get_memories(scope, ids)

    async def find_traces(self, scope: Scope, memory_id: MemoryId | str | None = None) -> Traces:
        """Where a memory left traces: what says it elsewhere, and the threads whose checkpoints hold it; of None, all threads
        of the space. Reads the whole space. Raises NotFound."""
        return await self.engine.erasures.find_traces(scope, None if memory_id is None else parse_memory_id(memory_id))

    def mentions(self, traces: Traces, text: str) -> bool:
        """Whether a text says what the traces are of, or what goes with it."""
        return mentions_any((*traces.texts, *traces.derived), text)

    async def erase(self, scope: Scope, memory_id: MemoryId | str) -> ErasureReceipt:
        """Remove a memory for good, with all of its traces but the checkpoints, which are its caller's to remove before.

        May be repeated until it is done. Raises NotFound, Conflict while too much is being written."""
        return await self.engine.erasures.erase_memory(scope, parse_memory_id(memory_id))

    async def erase_space(self, scope: Scope) -> ErasureReceipt:
        """Remove a space for good, as `erase`; nothing is counted where there is none. Raises Conflict, StoreError."""
        return await self.engine.erasures.erase_space(scope)

    async def maintain(self, scope: Scope) -> MaintenanceResult:
        """Forget what is due, purge what was forgotten long ago, clean the ledger, consolidate what has changed. Can be
        interrupted anywhere and taken again. Raises NotFound where there is no such space, StoreError."""
        return await self.engine.maintenance_flow.maintain_space(scope)

    async def activity(self, scope: Scope, days: int, changes: int = 10) -> SpaceActivity:
        """What was done in the space in the last so many days (UTC), today included, and its latest changes."""
        return await self.engine.statistics.get_activity(scope, days, changes)

    async def usage(self, scope: Scope, days: int) -> UsageReport:
        """What the scope's tenant spent on models in the last so many days (UTC), today included."""
        return await self.engine.statistics.get_usage(scope, days)

    async def index(self, scope: Scope, *, drop: bool = False) -> IndexingResult:
        """Make, renew or drop the indexes of a large space; one below `recall.index_from` has none. Raises NotFound,
        Conflict while another process makes an index, StoreError for a role that may not."""
        return await self.engine.indexes.index_space(scope, drop=drop)

    async def index_all(
        self, on_progress: OnProgress | None = None, *, drop: bool = False
    ) -> Mapping[Scope, IndexingResult]:
        """As `index` for every space; those that have indexes now, or had. `progress` counts spaces."""
        return await self.engine.indexes.index_spaces(on_progress, drop=drop)

    async def spaces(self, tenant: str | None = None) -> Sequence[Scope]:
        """The owners of all spaces, or of a tenant's, oldest first; maintenance only."""
        return await self.engine.statistics.list_spaces(tenant)

    async def reembed(self, on_progress: OnProgress | None = None) -> int:
        """Switch to the configured embedder without a comparison. Returns the memories and versions that got a vector."""
        return await self.engine.reembedding.reembed_all(on_progress)

    def switch_embedder(self, on_progress: OnProgress | None = None) -> AbstractAsyncContextManager[EmbedderSwitch]:
        """A switch to the configured embedder, step by step, beside the one in use. Raises Conflict while another is made."""
        return self.engine.reembedding.open_switch(on_progress)

    async def embedders(self) -> SwitchProgress:
        """The database's embedder, the one of a switch under way, and how far that is. No embedder is asked for."""
        return await self.engine.reembedding.read_embedders()
