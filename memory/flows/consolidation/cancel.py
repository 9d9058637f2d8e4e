"""Calling off a run that waits for a batch endpoint: it is over, its money is free, and the endpoint stops and forgets."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from uuid import UUID

from muniment.memory.domain.consolidation import Run
from muniment.memory.domain.ids import MemoryId, RunId
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, Conflict, ModelError, NotReady
from muniment.memory.flows.consolidation import batch_collect, consolidate
from muniment.memory.flows.consolidation.batch_collect import drop_batch, remove_files
from muniment.memory.flows.consolidation.batch_submit import end_without_answers
from muniment.memory.flows.house import House


async def cancel_consolidation(house: House, scope: Scope, run_id: UUID) -> Run:
    """See `Memory.cancel_consolidation`."""
    run = await _mark_cancelled(house, scope, run_id)
    if run.ended_at is None:
        run = await consolidate.end_run(house, run)
    with suppress(ModelError, NotReady):  # the job that would have collected sees to it
        await remove_files(house, run)
    return await consolidate.get_run(house, scope, run.id)


async def withdraw_batches(house: House, scope: Scope, shown: Collection[MemoryId] | None = None) -> None:
    """Call off what a space waits for that is going to be erased, or only where one of these memories is `shown`: its texts do
    not stay at the endpoint, nor those of runs that are over, and its other pairs are due again. Raises StoreError; an endpoint
    that cannot be reached holds up nothing."""
    run = await consolidate.find_waiting_run(house, scope)
    if run is not None and (shown is None or any(one.older in shown or one.newer in shown for one in run.asked)):
        with suppress(BadInput):  # it was collected at this very moment
            await cancel_consolidation(house, scope, run.id)
    for left in await house.store.list_uncollected_runs(scope) if house.batches else ():
        await _remove_batch(house, scope, left)


async def _remove_batch(house: House, scope: Scope, run_id: RunId) -> None:
    """Let the endpoint have nothing of a run that is over, or gone, whatever comes too late to be counted."""
    run = next(iter(await house.store.list_runs(scope.owner_scope, 1, run_id)), None)
    if house.batches is None or (run is not None and run.ended_at is None):
        return
    with suppress(ModelError):
        try:
            await batch_collect.perform_collection(house, scope, str(run_id))
        except NotReady:
            await drop_batch(house.batches, str(run_id))


async def _mark_cancelled(house: House, scope: Scope, run_id: UUID) -> Run:
    """The run as `cancelled`, with the money that it held given back. Raises NotFound, BadInput, Conflict."""
    for _ in range(house.settings.write.attempts):
        run = await consolidate.get_run(house, scope, run_id)
        if run.status == "cancelled":
            return run
        if run.status != "waiting":
            raise BadInput(f"the consolidation {run_id} does not wait for a batch endpoint: it is {run.status}")
        name = run.batch or await _find_batch(house, run)
        with suppress(Conflict):  # it was collected at this very moment
            return await end_without_answers(house, replace(run, batch=name), "cancelled")
    raise Conflict


async def _find_batch(house: House, run: Run) -> str | None:
    """The name of a batch that is not noted, as far as the endpoint can tell."""
    if house.batches is not None:
        with suppress(ModelError):
            return await house.batches.find_batch(str(run.id), run.handed)
    return None
