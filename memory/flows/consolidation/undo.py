"""Undoing a consolidation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from muniment.memory.domain.consolidation import UndoResult
from muniment.memory.domain.plan import WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, Busy
from muniment.memory.flows.consolidation.consolidate import Consolidation
from muniment.memory.flows.process_state import SpaceLocks
from muniment.memory.flows.writing.plan import PlanCommitter
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.consolidation import ConsolidationRuns
from muniment.memory.rules.merging.undo import plan_undo


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunUndo:
    """Undoes a consolidation: writes what it changed as it was before, as new revisions."""

    clock: Clock
    committer: PlanCommitter
    consolidation: Consolidation
    locks: SpaceLocks
    runs: ConsolidationRuns

    async def undo_consolidation(self, scope: Scope, run_id: UUID) -> UndoResult:
        """Restore what the run changed, except what has changed since. Returns how many memories are restored and left.

        Raises NotFound, BadInput for a run that is undone, Busy for one that is not over, Conflict, StoreError."""

        async def restore() -> UndoResult:
            run = await self.consolidation.get_run(scope, run_id)
            if run.status == "undone":
                raise BadInput(f"the consolidation {run_id} is undone already")
            if run.ended_at is None:
                raise Busy(
                    f"the consolidation {run_id} is not over yet ({run.status}): take it back then; one whose process "
                    "has died is over when the next one begins"
                )
            rev, steps = await self.runs.read_run_changes(scope, run.id)
            reversal = plan_undo(steps, run.id)
            plan = WritePlan(scope=scope, expected_rev=rev, node="face", at=self.clock.now(), changes=reversal.changes)
            await self.runs.undo_run(run, plan, reversal)
            restored = len(reversal.changes)
            return UndoResult(run=replace(run, status="undone"), restored=restored, left=len(steps) - restored)

        async with self.locks.space_lock(scope.space):
            return await self.committer.retry_on_conflict(restore)
