"""The port of the console's page of jobs and workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from muniment.memory.domain.console.machines import JobCount, QueuedJob, WorkerSign
from muniment.memory.domain.scope import Scope


class MachineReads(Protocol):
    """The queue as a person looks at it: of one space, or of a tenant with what is of all spaces."""

    async def count_jobs(self, of: Scope | str) -> Sequence[JobCount]:
        """Return the numbers of jobs of a space, or of a tenant by its name, by the name of the job."""
        ...

    async def list_jobs(self, of: Scope | str, limit: int) -> Sequence[QueuedJob]:
        """Return the first `limit` jobs: those that have failed, then those that run, then those that are due first."""
        ...

    async def list_workers(self) -> Sequence[WorkerSign]:
        """Return the workers of all spaces."""
        ...
