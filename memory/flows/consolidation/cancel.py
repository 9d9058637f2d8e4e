"""Calling off a run that waits for a batch endpoint: it is over, its money is free, and the endpoint stops and forgets."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from uuid import UUID

from muniment.memory.config.settings import Settings
from muniment.memory.domain.consolidation import Run
from muniment.memory.domain.ids import MemoryId, RunId
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, Conflict, ModelError, NotReady
from muniment.memory.flows.consolidation.batch_collect import BatchCollection, drop_batch
from muniment.memory.flows.consolidation.batch_submit import BatchSubmission
from muniment.memory.flows.consolidation.consolidate import Consolidation
from muniment.memory.ports.consolidation import BatchRuns, ConsolidationRuns
from muniment.memory.ports.llm import BatchModel


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cancellation:
    """Calling off a run that waits for a batch endpoint: it is over, its money is free, and the endpoint stops and forgets."""

    batch_collection: BatchCollection
    batch_runs: BatchRuns
    batch_submission: BatchSubmission
    batches: BatchModel | None
    consolidation: Consolidation
    runs: ConsolidationRuns
    settings: Settings

    async def cancel_consolidation(self, scope: Scope, run_id: UUID) -> Run:
        """See `Memory.cancel_consolidation`."""
        run = await self._mark_cancelled(scope, run_id)
        if run.ended_at is None:
            run = await self.consolidation.end_run(run)
        with suppress(ModelError, NotReady):  # the job that would have collected sees to it
            await self.batch_collection.remove_files(run)
        return await self.consolidation.get_run(scope, run.id)

    async def withdraw_batches(self, scope: Scope, shown: Collection[MemoryId] | None = None) -> None:
        """Call off what a space waits for that is going to be erased, or only where one of these memories is `shown`: its texts do
        not stay at the endpoint, nor those of runs that are over, and its other pairs are due again. Raises StoreError; an endpoint
        that cannot be reached holds up nothing."""
        run = await self.consolidation.find_waiting_run(scope)
        if run is not None and (shown is None or any(one.older in shown or one.newer in shown for one in run.asked)):
            with suppress(BadInput):  # it was collected at this very moment
                await self.cancel_consolidation(scope, run.id)
        for left in await self.batch_runs.list_uncollected_runs(scope) if self.batches else ():
            await self._remove_batch(scope, left)

    async def _remove_batch(self, scope: Scope, run_id: RunId) -> None:
        """Let the endpoint have nothing of a run that is over, or gone, whatever comes too late to be counted."""
        run = next(iter(await self.runs.list_runs(scope.owner_scope, 1, run_id)), None)
        if self.batches is None or (run is not None and run.ended_at is None):
            return
        with suppress(ModelError):
            try:
                await self.batch_collection.perform_collection(scope, str(run_id))
            except NotReady:
                await drop_batch(self.batches, str(run_id))

    async def _mark_cancelled(self, scope: Scope, run_id: UUID) -> Run:
        """The run as `cancelled`, with the money that it held given back. Raises NotFound, BadInput, Conflict."""
        for _ in range(self.settings.write.attempts):
            run = await self.consolidation.get_run(scope, run_id)
            if run.status == "cancelled":
                return run
            if run.status != "waiting":
                raise BadInput(f"the consolidation {run_id} does not wait for a batch endpoint: it is {run.status}")
            name = run.batch or await self._find_batch(run)
            with suppress(Conflict):  # it was collected at this very moment
                return await self.batch_submission.end_without_answers(replace(run, batch=name), "cancelled")
        raise Conflict

    async def _find_batch(self, run: Run) -> str | None:
        """The name of a batch that is not noted, as far as the endpoint can tell."""
        if self.batches is not None:
            with suppress(ModelError):
                return await self.batches.find_batch(str(run.id), run.handed)
        return None
