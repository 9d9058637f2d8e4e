"""The job queue port."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Protocol

from muniment.memory.domain.jobs import Job, JobName, JobTicket
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn


class JobQueue(Protocol):
    """Jobs for later. One worker at a time holds a job, and a job stays in the queue until it is finished."""

    async def enqueue_jobs(self, jobs: Sequence[Job]) -> None:
        """Add jobs. A job that waits already, with the same name and key in the same space, is the same job."""
        ...

    async def register_worker(self) -> int:
        """Return the number of a new worker."""
        ...

    async def record_heartbeat(self, worker: int) -> bool:
        """Note that the worker is alive. Returns False when it counts as dead, and has to register again."""
        ...

    async def unregister_worker(self, worker: int) -> None:
        """End a worker: its jobs go back to the queue, due at once."""
        ...

    async def requeue_abandoned(self, seconds: float) -> int:
        """Put back the jobs of workers without a heartbeat for `seconds`; return how many."""
        ...

    async def take_job(
        self, worker: int, names: Sequence[JobName], own_names: Sequence[JobName] = ()
    ) -> JobTicket | None:
        """Return the next due job, None without one: of these names, or of `own_names` for the spaces of tokens that
        bring their own models. Turns of one space are extracted in order."""
        ...

    async def finish_job(self, ticket: JobTicket) -> None:
        """Remove the job from the queue."""
        ...

    async def reschedule_job(
        self, ticket: JobTicket, wait: timedelta, *, step_aside: bool = False, error_class: str | None = None
    ) -> None:
        """Put the job back, due after `wait` by the queue's own clock, with the class of the error of this attempt;
        with `step_aside` later jobs of its space may pass it."""
        ...

    async def hasten_job(self, job_id: int, *, tenant: str, scope: Scope | None) -> bool:
        """Make a waiting job due at once: of a space, or without one of the tenant or of all spaces. Returns whether
        there is such a job."""
        ...

    async def count_jobs(self) -> dict[str, dict[str, int]]:
        """Return the counts of jobs by name and state: due, later, running."""
        ...

    def listen_for_jobs(self, names: Sequence[JobName]) -> AsyncIterator[None]:
        """Yield once at the start and whenever a job may have come; only `take_job` says whether. Raises StoreDown."""
        ...

    async def list_unextracted_turns(self, scope: Scope, after: Turn | None, limit: int) -> list[Turn]:
        """Return the user's turns after this one that no model has read and no job will, oldest first."""
        ...
