"""Undoing a consolidation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from muniment.memory.domain.consolidation import Run, UndoResult
from muniment.memory.domain.plan import WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, Busy
from muniment.memory.flows.consolidation.consolidate import Consolidation
from muniment.memory.flows.writing.plan import PlanCommitter
from muniment.memory.flows.writing.vectors import VectorCache, complete_vectors
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.consolidation import ConsolidationRuns
from muniment.memory.rules.merging.undo import plan_undo


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunUndo:
    """Undoes a consolidation: writes what it changed as it was before, as new revisions."""

    clock: Clock
    committer: PlanCommitter
    consolidation: Consolidation
    runs: ConsolidationRuns

    async def undo_consolidation(self, scope: Scope, run_id: UUID) -> UndoResult:
        """Restore what the run changed, except what has changed since. Returns how many memories are restored and left.

        Raises NotFound, BadInput for a run that is undone, Busy for one that is not over, Conflict, StoreError,
        ModelError."""

        async def restore(vectors: VectorCache) -> UndoResult:
            run = await self._get_ended_run(scope, run_id)
            rev, steps = await self.runs.read_run_changes(scope, run.id)
            reversal = plan_undo(steps, run.id)
            changes = complete_vectors(reversal.changes, vectors)
            plan = WritePlan(scope=scope, expected_rev=rev, node="face", at=self.clock.now(), changes=changes)
            await self.runs.undo_run(run, plan, reversal)
            restored = len(reversal.changes)
            return UndoResult(run=replace(run, status="undone"), restored=restored, left=len(steps) - restored)

        return await self.committer.run_with_vectors(scope, restore)

    async def preview_undo(self, scope: Scope, run_id: UUID) -> UndoResult:
        """Return what undoing the run would restore and leave, and change nothing. Raises as `undo_consolidation`."""
        run = await self._get_ended_run(scope, run_id)
        _, steps = await self.runs.read_run_changes(scope, run.id)
        restored = len(plan_undo(steps, run.id).changes)
        return UndoResult(run=run, restored=restored, left=len(steps) - restored)

    async def _get_ended_run(self, scope: Scope, run_id: UUID) -> Run:
        run = await self.consolidation.get_run(scope, run_id)
        if run.status == "undone":
            raise BadInput(f"the consolidation {run_id} is undone already")
        if run.ended_at is None:
            raise Busy(
                f"the consolidation {run_id} is not over yet ({run.status}): take it back then; one whose process "
                "has died is over when the next one begins"
            )
        return run
