"""Undoing a consolidation: what it changed becomes what it was, as new revisions; what changed since is left."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from muniment.memory.domain.consolidation import Run, UndoResult
from muniment.memory.domain.plan import WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, Busy
from muniment.memory.flows.consolidation import consolidate
from muniment.memory.flows.house import House
from muniment.memory.flows.writing.transaction import retry_on_conflict
from muniment.memory.rules.merging.undo import plan_undo


async def undo_consolidation(house: House, scope: Scope, run_id: UUID) -> UndoResult:
    """See `Memory.undo_consolidation`."""

    async def restore() -> UndoResult:
        run = await _get_finished_run(house, scope, run_id)
        rev, steps = await house.store.read_run_changes(scope, run.id)
        back = plan_undo(steps, run.id)
        plan = WritePlan(scope=scope, expected_rev=rev, node="face", at=house.clock.now(), changes=back.changes)
        await house.store.undo_run(run, plan, back)
        restored = len(back.changes)
        return UndoResult(run=replace(run, status="undone"), restored=restored, left=len(steps) - restored)

    async with house.space_lock(scope.space):
        return await retry_on_conflict(house, restore)


async def _get_finished_run(house: House, scope: Scope, run_id: UUID) -> Run:
    """The run, if it can be undone. Raises NotFound, BadInput, Busy."""
    run = await consolidate.get_run(house, scope, run_id)
    if run.status == "undone":
        raise BadInput(f"the consolidation {run_id} is undone already")
    if run.ended_at is None:
        raise Busy(
            f"the consolidation {run_id} is not over yet ({run.status}): take it back then; one whose process has died is over "
            "when the next one begins"
        )
    return run
