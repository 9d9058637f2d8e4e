"""The job queue port."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Protocol

from muniment.memory.domain.jobs import Job, JobName, JobTicket
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn


class JobQueue(Protocol):
    """Jobs for later. A job is of one worker at a time, and in the queue until it is done."""

    async def enqueue_jobs(self, jobs: Sequence[Job]) -> None:
        """Add jobs; one that waits already, with the same name and key in the same space, is the same job."""
        ...

    async def register_worker(self) -> int:
        """A new worker's number."""
        ...

    async def record_heartbeat(self, worker: int) -> bool:
        """Say that the worker lives; False when it is counted as dead, so that it has to enroll again."""
        ...

    async def unregister_worker(self, worker: int) -> None:
        """The worker stops: what it holds goes back, due at once."""
        ...

    async def requeue_abandoned(self, seconds: float) -> int:
        """Put back what is held by workers that gave no sign for so long; how many jobs."""
        ...

    async def take_job(self, worker: int, names: Sequence[JobName]) -> JobTicket | None:
        """The next job of these names that is due. Turns of one space are extracted in order, one at a time."""
        ...

    async def finish_job(self, ticket: JobTicket) -> None:
        """The job leaves the queue."""
        ...

    async def reschedule_job(self, ticket: JobTicket, wait: timedelta, *, step_aside: bool = False) -> None:
        """The job is tried again, not before `wait` is over by the queue's own clock; one that steps aside lets later jobs
        of its space pass."""
        ...

    async def count_jobs(self) -> dict[str, dict[str, int]]:
        """The jobs in the queue: name -> due, later, running."""
        ...

    def listen_for_jobs(self, names: Sequence[JobName]) -> AsyncIterator[None]:
        """Once at the start and whenever a job may have come. A hint: only `take` knows. Raises StoreDown."""
        ...

    async def list_unextracted_turns(self, scope: Scope, after: Turn | None, limit: int) -> list[Turn]:
        """The user's turns after this one that no model has looked at and no job will, oldest first."""
        ...
