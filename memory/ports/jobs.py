"""The job queue port."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Protocol

from muniment.memory.domain.jobs import Job, JobName, Ticket
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn


class Queue(Protocol):
    """Jobs for later. A job is of one worker at a time, and in the queue until it is done."""

    async def enqueue(self, jobs: Sequence[Job]) -> None:
        """Add jobs; one that waits already, with the same name and key in the same space, is the same job."""
        ...

    async def enroll(self) -> int:
        """A new worker's number."""
        ...

    async def beat(self, worker: int) -> bool:
        """Say that the worker lives; False when it is counted as dead, so that it has to enroll again."""
        ...

    async def leave(self, worker: int) -> None:
        """The worker stops: what it holds goes back, due at once."""
        ...

    async def rescue(self, seconds: float) -> int:
        """Put back what is held by workers that gave no sign for so long; how many jobs."""
        ...

    async def take(self, worker: int, names: Sequence[JobName]) -> Ticket | None:
        """The next job of these names that is due. Turns of one space are extracted in order, one at a time."""
        ...

    async def done(self, ticket: Ticket) -> None:
        """The job leaves the queue."""
        ...

    async def put_back(self, ticket: Ticket, wait: timedelta, *, aside: bool = False) -> None:
        """The job is tried again, not before `wait` is over by the queue's own clock; one that steps aside lets later jobs
        of its space pass."""
        ...

    async def waiting(self) -> dict[str, dict[str, int]]:
        """The jobs in the queue: name -> due, later, running."""
        ...

    def calls(self, names: Sequence[JobName]) -> AsyncIterator[None]:
        """Once at the start and whenever a job may have come. A hint: only `take` knows. Raises StoreDown."""
        ...

    async def unextracted(self, scope: Scope, after: Turn | None, limit: int) -> list[Turn]:
        """The user's turns after this one that no model has looked at and no job will, oldest first."""
        ...
