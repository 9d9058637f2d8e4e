"""`Admin`: what an operator calls."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from uuid import UUID

from muniment.memory.codec import check_calls
from muniment.memory.domain.consolidation import Finding, Pair, Run, SpaceResult, UndoResult
from muniment.memory.domain.embedding import DATABASE, SwitchProgress, SwitchRange
from muniment.memory.domain.erasure import ErasureReceipt, Traces
from muniment.memory.domain.evidence.seals import Anchor, AnchorFile, VerificationReport
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.maintenance import IndexingResult, LedgerCounts, MaintenanceResult, RefilingResult
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import LegacyReport, SpaceActivity, UsageReport
from muniment.memory.engine import Engine
from muniment.memory.flows.background.derived import mentions_any
from muniment.memory.flows.background.reembed import EmbedderSwitch

OnProgress = Callable[[int], None]
START = Revision(0)


@check_calls
class Admin:
    """Consolidation, erasure, indexes, the embedder, usage and maintenance. It shares the engine of `Memory`."""

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
        """Merge memories of the space that say the same, and supersede those that are no longer so.

        Returns the run, or None while another run of the space is under way. `dry` writes nothing; `limit` is a number
        of pairs in place of `consolidation.per_day`; `on_findings` is called with the findings of each portion. When
        the model fails, the run's status says so. Raises BadInput, StoreError."""
        return await self.engine.run_checked(
            scope,
            lambda engine: engine.consolidation.consolidate_space(scope, dry=dry, limit=limit, on_findings=on_findings),
        )

    async def consolidate_each(
        self, scopes: Iterable[Scope], *, dry: bool = False, limit: int | None = None, unchanged: bool = False
    ) -> AsyncIterator[SpaceResult]:
        """Consolidate one space after another, and yield a result for each.

        A space with a run under way is skipped, and so is one that has not changed since its last run, unless
        `unchanged`. Raises BadInput, StoreError."""
        for scope in scopes:
            yield await self._consolidate_next(scope, dry=dry, limit=limit, unchanged=unchanged)

    async def _consolidate_next(self, scope: Scope, *, dry: bool, limit: int | None, unchanged: bool) -> SpaceResult:
        return await self.engine.run_checked(
            scope,
            lambda engine: engine.space_sweep.consolidate_next(scope, dry=dry, limit=limit, unchanged=unchanged),
        )

    async def begin_run(self, scope: Scope, *, dry: bool = False, limit: int | None = None) -> Run | None:
        """Begin a run, the first step of `consolidate`; None while another is under way. Raises BadInput,
        StoreError."""
        return await self.engine.consolidation.begin_run(scope, dry=dry, limit=limit)

    async def survey_run(self, run: Run) -> tuple[Run, Sequence[Sequence[Pair]]]:
        """Return the run and its pairs to check, in portions of one prompt each. Raises Conflict, StoreError."""
        return await self.engine.engines.run(run.scope, lambda engine: engine.consolidation.survey_portions(run))

    async def check_run(self, run: Run, pairs: Sequence[Pair]) -> tuple[Run, Sequence[Finding]]:
        """Judge the pairs of a portion. When the model fails, the status of the returned run says so. Raises
        StoreError."""
        return await self.engine.engines.run(run.scope, lambda engine: engine.consolidation.check_pairs(run, pairs))

    async def apply_run(self, run: Run, findings: Sequence[Finding]) -> Run:
        """Apply findings in one transaction, except to memories that changed meanwhile. Raises Conflict, StoreError."""
        return await self.engine.engines.run(
            run.scope, lambda engine: engine.consolidation.apply_findings(run, findings)
        )

    async def end_run(self, run: Run) -> Run:
        """End the run, the last step, and return its final record. Raises Conflict, StoreError."""
        return await self.engine.engines.run(run.scope, lambda engine: engine.consolidation.end_run(run))

    async def list_runs(self, scope: Scope, limit: int = 20, *, run: UUID | None = None) -> Sequence[Run]:
        """Return the runs of the space, the one under way first, then the newest; or only the one with the id `run`.

        Raises BadInput for a limit out of range."""
        return await self.engine.consolidation.list_runs(scope, limit, run)

    async def undo_consolidation(self, scope: Scope, run: UUID) -> UndoResult:
        """Restore the memories that a run changed, except those that changed since.

        Raises NotFound, BadInput for a run that is undone already, Busy for one that has not ended, Conflict,
        StoreError."""
        return await self.engine.engines.run(scope, lambda engine: engine.run_undo.undo_consolidation(scope, run))

    async def preview_undo(self, scope: Scope, run: UUID) -> UndoResult:
        """Return what `undo_consolidation` would do; nothing is changed. Raises as it does."""
        return await self.engine.run_undo.preview_undo(scope, run)

    async def cancel_consolidation(self, scope: Scope, run: UUID) -> Run:
        """Cancel a run that waits for a batch endpoint, free its part of the budget, and remove the batch and its
        files.

        When the endpoint cannot be reached, a worker removes them later. A run that is cancelled already stays so.
        Raises NotFound, BadInput for a run that does not wait, Conflict, StoreError."""
        return await self.engine.batch_collection.cancel_consolidation(scope, run)

    async def get_many(self, scope: Scope, ids: Iterable[MemoryId]) -> Mapping[MemoryId, StoredMemory]:
        """Return memories by their ids, whatever their state. An unknown id is left out."""
        return await self.engine.browser.get_memories(scope, ids)

    async def find_traces(self, scope: Scope, memory_id: MemoryId | str | None = None) -> Traces:
        """Return where else a memory is said: other memories, turns, and threads with checkpoints; of None, all
        threads.

        Reads the whole space. Raises NotFound."""
        id_ = None if memory_id is None else await self.engine.browser.find_id(scope, memory_id)
        return await self.engine.erasures.find_traces(scope, id_)

    def mentions(self, traces: Traces, text: str) -> bool:
        """Whether a text says what one of the traces' texts says."""
        return mentions_any((*traces.texts, *traces.derived), text)

    async def erase(self, scope: Scope, memory_id: MemoryId | str) -> ErasureReceipt:
        """Delete a memory for good, with all of its traces but the checkpoints, which the caller removes first.

        May be repeated after an error. Raises NotFound, Conflict when writers keep changing the space."""
        return await self.engine.erasures.erase_memory(scope, await self.engine.browser.find_id(scope, memory_id))

    async def erase_space(self, scope: Scope) -> ErasureReceipt:
        """Delete a space for good, as `erase` does a memory. The receipt of an empty space counts nothing. Raises
        Conflict, StoreError."""
        return await self.engine.erasures.erase_space(scope)

    async def maintain(self, scope: Scope) -> MaintenanceResult:
        """Forget what is due, purge old soft deletions, remove old turns, and consolidate if the space has changed.

        May be interrupted and repeated. Raises NotFound for an unknown space, StoreError."""
        return await self.engine.run_checked(scope, lambda engine: engine.maintenance_flow.maintain_space(scope))

    async def clean_ledger(self, scope: Scope, *, dry: bool = True) -> LedgerCounts:
        """Count the turns and sessions of a space that are past their days, and remove them unless `dry`.

        Memories stay. Raises StoreError."""
        return await self.engine.maintenance_flow.clean_ledger(scope, dry=dry)

    async def refile_space(self, scope: Scope, *, dry: bool = False) -> RefilingResult:
        """Move the memories of a space to the categories that facts of their kind have now; `dry` only counts them.

        Raises BadConfig where the settings have categories or allowlists of their own, Conflict, StoreError."""
        return await self.engine.refiling.refile_space(scope, dry=dry)

    async def undo_refiling(self, scope: Scope, *, dry: bool = False) -> RefilingResult:
        """Move what `refile_space` moved back, except what was filed elsewhere since. Raises Conflict, StoreError."""
        return await self.engine.refiling.undo_refiling(scope, dry=dry)

    async def read_activity(self, scope: Scope, days: int, changes: int = 10) -> SpaceActivity:
        """Return event counts of the last `days` days (UTC), today included, and the latest `changes`. Raises
        BadInput."""
        return await self.engine.statistics.get_activity(scope, days, changes)

    async def read_legacy(self, scope: Scope, limit: int = 100) -> LegacyReport:
        """Return what was imported from a former design, and what of it nothing newer has confirmed. Raises
        BadInput."""
        return await self.engine.statistics.get_legacy(scope, limit)

    async def read_usage(self, scope: Scope, days: int) -> UsageReport:
        """Return what the tenant spent on models in the last `days` days (UTC), today included. Raises BadInput."""
        return await self.engine.statistics.get_usage(scope, days)

    async def index(self, scope: Scope, *, drop: bool = False) -> IndexingResult:
        """Make, renew or drop the indexes of a space; one with fewer memories than `recall.index_from` has none.

        Raises NotFound, Conflict while another process makes an index, StoreError for a role without the right."""
        return await self.engine.indexes.index_space(scope, drop=drop)

    async def index_all(
        self, on_progress: OnProgress | None = None, *, drop: bool = False
    ) -> Mapping[Scope, IndexingResult]:
        """Do as `index` for every space. Returns those that have or had indexes; `on_progress` gets a number of
        spaces."""
        return await self.engine.indexes.index_spaces(on_progress, drop=drop)

    async def list_spaces(self, tenant: str | None = None) -> Sequence[Scope]:
        """Return the scopes of all spaces, or of a tenant's, oldest first."""
        return await self.engine.statistics.list_spaces(tenant)

    async def reembed(self, on_progress: OnProgress | None = None, *, spaces: SwitchRange = DATABASE) -> int:
        """Switch to the configured embedder. Returns the number of memories and versions that were embedded."""
        return await self.engine.reembedding.reembed_all(spaces, on_progress)

    def switch_embedder(
        self, on_progress: OnProgress | None = None, *, spaces: SwitchRange = DATABASE
    ) -> AbstractAsyncContextManager[EmbedderSwitch]:
        """Open a switch to the configured embedder, to take step by step while the old one is in use: of one space,
        of those of a tenant, or of all. Raises Conflict, NotFound for a space that does not exist."""
        return self.engine.reembedding.open_switch(spaces, on_progress)

    async def read_switch_progress(self, spaces: SwitchRange = DATABASE) -> SwitchProgress:
        """Return the embedder of these spaces, that of a switch under way, and its progress. No embedder is loaded."""
        return await self.engine.reembedding.read_embedders(spaces)

    async def verify(
        self,
        scope: Scope,
        *,
        since: Revision = START,
        anchors: Sequence[Anchor] = (),
        on_progress: OnProgress | None = None,
    ) -> VerificationReport:
        """Compare the journal of a space after a revision, its memories and their versions with their seals.

        The report has what was changed, removed or added by other means than the product's, the first revision first.
        `on_progress` gets numbers of rows. Raises NotFound for a space that does not exist, BadInput for a revision
        that its journal has not reached, StoreError."""
        return await self.engine.verification.verify_space(scope, since, anchors, on_progress)

    async def find_lost_spaces(self, anchors: Sequence[Anchor]) -> Sequence[VerificationReport]:
        """Return a report for each space that an anchor knows and that is gone, and for each whose row names somebody
        else than its id is made of. Raises StoreError."""
        return await self.engine.verification.find_lost_spaces(anchors)

    async def sign_anchors(self, scopes: Sequence[Scope]) -> AnchorFile:
        """Return where the journals of these spaces end, signed by the key of this installation. Raises StoreError,
        BadConfig."""
        return await self.engine.verification.sign_anchors(scopes)
