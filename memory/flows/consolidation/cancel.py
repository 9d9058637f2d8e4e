"""Cancelling a run that waits for a batch endpoint."""

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
from muniment.memory.flows.consolidation.batch_collect import BatchCollection, drop_batch, find_batch_name
from muniment.memory.flows.consolidation.batch_submit import BatchSubmission
from muniment.memory.flows.consolidation.consolidate import Consolidation
from muniment.memory.ports.consolidation import BatchRuns, ConsolidationRuns
from muniment.memory.ports.llm import BatchModel


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cancellation:
    """Cancels a waiting run: the run ends, its reserved budget is free, and the endpoint stops and removes its
    files."""

    batch_collection: BatchCollection
    batch_runs: BatchRuns
    batch_submission: BatchSubmission
    batches: BatchModel | None
    consolidation: Consolidation
    runs: ConsolidationRuns
    settings: Settings

    async def cancel_consolidation(self, scope: Scope, run_id: UUID) -> Run:
        """Cancel the run and return its record. What the endpoint does not do now is left to the job that collects.

        Raises NotFound, BadInput for a run that does not wait, Conflict, StoreError."""
        run = await self._mark_cancelled(scope, run_id)
        if run.ended_at is None:
            run = await self.consolidation.end_run(run)
        with suppress(ModelError, NotReady):
            await self.batch_collection.remove_files(run)
        return await self.consolidation.get_run(scope, run.id)

    async def withdraw_batches(self, scope: Scope, ids: Collection[MemoryId] | None = None) -> None:
        """Before an erasure, cancel the waiting run of the space, and let the endpoint remove the files of ended runs.
        With `ids` only a run that asks about one of these memories is cancelled; its other pairs are due again.

        An endpoint that is out of reach does not delay the erasure. Raises StoreError."""
        run = await self.consolidation.find_waiting_run(scope)
        if run is not None and (ids is None or any(pair.older in ids or pair.newer in ids for pair in run.asked)):
            with suppress(BadInput):  # it was collected at this moment
                await self.cancel_consolidation(scope, run.id)
        if self.batches is not None:
            for uncollected in await self.batch_runs.list_uncollected_runs(scope):
                await self._remove_batch(self.batches, scope, uncollected)

    async def _remove_batch(self, batches: BatchModel, scope: Scope, run_id: RunId) -> None:
        """Remove the batch of a run that is over, or gone, without waiting for late answers to be counted."""
        run = next(iter(await self.runs.list_runs(scope.owner_scope, 1, run_id)), None)
        if run is not None and run.ended_at is None:
            return
        with suppress(ModelError):
            try:
                await self.batch_collection.perform_collection(scope, str(run_id))
            except NotReady:
                await drop_batch(batches, str(run_id))

    async def _mark_cancelled(self, scope: Scope, run_id: UUID) -> Run:
        """Return the run as `cancelled`, with its reserved budget given back. Raises NotFound, BadInput, Conflict."""
        for _ in range(self.settings.write.attempts):
            run = await self.consolidation.get_run(scope, run_id)
            if run.status == "cancelled":
                return run
            if run.status != "waiting":
                raise BadInput(f"the consolidation {run_id} does not wait for a batch endpoint: it is {run.status}")
            if self.batches is not None:
                with suppress(ModelError):
                    run = replace(run, batch=await find_batch_name(self.batches, run))
            with suppress(Conflict):  # it was collected at this moment
                return await self.batch_submission.end_without_answers(run, "cancelled")
        raise Conflict
