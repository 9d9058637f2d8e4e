"""Undoing a consolidation: what it changed becomes what it was, as new revisions; what changed since is left."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from muniment.memory.domain.consolidation import Run, Undone
from muniment.memory.domain.plan import WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, Busy
from muniment.memory.flows.consolidation import consolidate
from muniment.memory.flows.house import House
from muniment.memory.flows.writing.transaction import attempted
from muniment.memory.rules.merging.undo import taken_back


async def undo(house: House, scope: Scope, run_id: UUID) -> Undone:
    """See `Memory.undo_consolidation`."""

    async def restore() -> Undone:
        run = await _over(house, scope, run_id)
        rev, steps = await house.store.changed_by(scope, run.id)
        back = taken_back(steps, run.id)
        plan = WritePlan(scope=scope, expects=rev, node="face", at=house.clock.now(), changes=back.changes)
        await house.store.undo_run(run, plan, back)
        restored = len(back.changes)
        return Undone(run=replace(run, status="undone"), restored=restored, left=len(steps) - restored)

    async with house.turnstile(scope.space):
        return await attempted(house, restore)


async def _over(house: House, scope: Scope, run_id: UUID) -> Run:
    """The run, if it can be undone. Raises NotFound, BadInput, Busy."""
    run = await consolidate.record(house, scope, run_id)
    if run.status == "undone":
        raise BadInput(f"the consolidation {run_id} is undone already")
    if run.ended_at is None:
        raise Busy(
            f"the consolidation {run_id} is not over yet ({run.status}): take it back then; one whose process has died is over "
            "when the next one begins"
        )
    return run
