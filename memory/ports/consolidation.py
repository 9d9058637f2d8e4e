"""What consolidation needs of a store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Protocol

from muniment.memory.domain.consolidation import BatchDraft, Finding, MemoryGraph, Run, RunChange, Survey, UndoPlan
from muniment.memory.domain.erasure import SurveyBounds
from muniment.memory.domain.ids import MemoryId, Revision, RunId
from muniment.memory.domain.plan import WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import Settlement


class ConsolidationStore(Protocol):
    """The part of a store that a consolidation asks."""

    async def begin_run(self, run: Run, lease: timedelta) -> Run | None:
        """Write the record; None while another run of the space is under way. One whose lease is over is given up:
        `interrupted`."""
        ...

    async def save_run(
        self,
        run: Run,
        lease: timedelta,
        plan: WritePlan | None = None,
        findings: Sequence[Finding] = (),
        *,
        settlements: Sequence[Settlement] | None = None,
    ) -> Run:
        """Write how far the run is, with what it decided: the record, the fingerprints and the plan in one transaction. The
        record as it is then: of the findings without an answer those are `shelved` that had none on so many days.
        `settled`: the run has waited for a batch until now, and this becomes of the money that it held.

        What was retrieved goes over with a merge. Raises Conflict when the space is no longer at `plan.expects`, one of the
        plan's memories was retrieved since, the run is no longer its space's own, or it waits and should not, or the other
        way round: somebody else has handed it over, or collected it."""
        ...

    async def interrupt_run(self, run: Run, at: datetime) -> None:
        """Close the record as `interrupted`, with what it says: its last step may have been written without an answer. A run
        that waits goes on."""
        ...

    async def list_runs(self, scope: Scope, limit: int, run: RunId | None = None) -> list[Run]:
        """The records of the space: the one that is under way, then the newest first; or that one."""
        ...

    async def survey_space(self, scope: Scope, bounds: SurveyBounds, limit: int, *, since: Revision) -> Survey:
        """S-37..S-40 in one statement: at most `limit` pairs. `since`: what changed after it is compared in any case."""
        ...

    async def read_members(self, scope: Scope, ids: Sequence[MemoryId]) -> MemoryGraph:
        """These memories as they are now, with their edges."""
        ...

    async def read_compared_revision(self, scope: Scope) -> tuple[Revision, bool]:
        """Up to which revision the space's runs have compared it, and whether anybody else has changed it since."""
        ...

    async def count_checked_pairs(self, scope: Scope, since: datetime) -> int:
        """How many pairs of the space were checked within a day since then."""
        ...

    async def read_run_changes(self, scope: Scope, run: RunId) -> tuple[Revision, list[RunChange]]:
        """The space's revision, and what a run changed."""
        ...

    async def undo_run(self, run: Run, plan: WritePlan, reversal: UndoPlan) -> None:
        """Write that the run was undone, with the plan that does it; an edge that is still as the run has left it becomes
        what it was, and what was retrieved since stays so. What is `apart` counts as looked at and different from `plan.at`
        on, each with each and however near. Raises Conflict."""
        ...


class BatchRunStore(Protocol):
    """The part of a store that knows of runs whose questions are with a batch endpoint."""

    async def reserve_submission(
        self,
        drafts: Sequence[BatchDraft],
        lease: timedelta,
        poll_after: timedelta,
        day: date,
        tokens: int | None,
        micros: int | None,
    ) -> Run | None:
        """Reserve what the prompts may cost, one by one, while the day's budget is not used up, and write the last of the
        drafts that it goes for with the job that collects, `look` later: in one transaction. None, and nothing written, when the budget
        was used up before. Raises Conflict when the run is over, or waits already."""
        ...

    async def list_uncollected_runs(self, scope: Scope) -> list[RunId]:
        """The runs of the space, also such as are gone, of which a job has yet to see that nothing is at the endpoint."""
        ...

    async def release_run(self, run: Run, settlements: Sequence[Settlement]) -> bool:
        """Note of a run that is over that nothing of it is at the endpoint any more, with what answers have cost that came
        after its end. False, and nothing written, when that was noted before."""
        ...
