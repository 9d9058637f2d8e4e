"""The ports of consolidation: its runs, and those that wait for a batch endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Protocol

from muniment.memory.domain.consolidation import BatchDraft, Finding, Run, RunChange, Survey, UndoPlan
from muniment.memory.domain.erasure import SurveyBounds
from muniment.memory.domain.ids import Revision, RunId
from muniment.memory.domain.plan import WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import Settlement


class ConsolidationRuns(Protocol):
    """The runs of a space, the pairs of memories that they compare, and what they changed."""

    async def begin_run(self, run: Run, lease: timedelta) -> Run | None:
        """Write the run's record. Returns None while another run of the space is under way; one whose lease is over
        becomes `interrupted`."""
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
        """Write the run's progress, the fingerprints of its findings and its plan in one transaction.

        Returns the record as it is then: findings without an answer on too many days are counted as `shelved`.
        `settlements`: the run has waited for a batch until now, and these replace what it had reserved. The access
        counts of a memory go over to the one it is merged into.

        Raises Conflict when the space is no longer at `plan.expected_rev`, a memory of the plan was retrieved since,
        or another process has ended the run, handed it to a batch or collected it."""
        ...

    async def interrupt_run(self, run: Run, at: datetime) -> None:
        """Close the record as `interrupted`; the last step of a run may have been written without an answer. A run that
        waits for a batch goes on."""
        ...

    async def list_runs(self, scope: Scope, limit: int, run: RunId | None = None) -> list[Run]:
        """Return the space's runs: the one under way, then the newest first; or only `run`."""
        ...

    async def survey_space(self, scope: Scope, bounds: SurveyBounds, limit: int, *, since: Revision) -> Survey:
        """Return at most `limit` pairs of similar memories to compare (S-37 to S-40). What changed after `since` is
        always among the memories that are compared."""
        ...

    async def read_compared_revision(self, scope: Scope) -> tuple[Revision, bool]:
        """Return the revision up to which the runs have compared the space, and whether anything else changed it
        since."""
        ...

    async def count_checked_pairs(self, scope: Scope, since: datetime) -> int:
        """Return how many pairs of the space were checked within a day of `since`."""
        ...

    async def read_run_changes(self, scope: Scope, run: RunId) -> tuple[Revision, list[RunChange]]:
        """Return the space's revision, and what the run changed."""
        ...

    async def undo_run(self, run: Run, plan: WritePlan, reversal: UndoPlan) -> None:
        """Mark the run as undone and commit the plan that undoes it.

        An edge that is still as the run left it gets its former strength; access counts gained since stay. The
        members of each separated group count as compared and different from `plan.at` on. Raises Conflict."""
        ...


class BatchRuns(Protocol):
    """The runs whose prompts are with a batch endpoint."""

    async def reserve_submission(
        self,
        drafts: Sequence[BatchDraft],
        lease: timedelta,
        poll_after: timedelta,
        day: date,
        tokens: int | None,
        micros: int | None,
    ) -> Run | None:
        """Reserve the cost of the drafts one by one within the day's budget, and write the run of the last one that
        fits.

        The job that collects the batch, due after `poll_after`, is written in the same transaction. Returns None, and
        writes nothing, when the budget was used up before. Raises Conflict when the run is over or waits already."""
        ...

    async def list_uncollected_runs(self, scope: Scope) -> list[RunId]:
        """Return the runs of the space that have a `collect` job in the queue, also those that do not exist any
        more."""
        ...

    async def release_run(self, run: Run, settlements: Sequence[Settlement]) -> bool:
        """Note that nothing of a run that is over is at the endpoint any more, with the cost of answers that came late.

        Returns False, and writes nothing, when that was noted before."""
        ...
