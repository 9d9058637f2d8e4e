"""Values of the console's page of jobs and workers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCount:
    """How many jobs of a name are due, wait for a later time, run, and failed when they were tried last."""

    name: str
    due: int
    later: int
    running: int
    failing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedJob:
    """A job of the queue. `owner` is whose memory it is about, empty for one of all; `error` the class of the error of
    its last attempt, never its message, and None where it did not fail, as one that waits for answers of a batch; it is
    not taken before `scheduled_at`."""

    id: int
    name: str
    owner: str
    status: str  # whether it waits (`todo`) or runs (`doing`)
    attempts: int
    error: str | None
    scheduled_at: datetime | None
    worker: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSign:
    """A worker, when it was heard of last and how many seconds ago by the database's clock, and its running jobs."""

    id: int
    last_heartbeat: datetime
    silent_seconds: float
    running: int
