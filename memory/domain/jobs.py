"""Background jobs: what is enqueued, taken and reported."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from muniment.memory.domain.scope import Scope

JobName = Literal["extract", "reflect", "expire", "index", "round", "tend", "collect", "learn_path"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Work for later, kept in the database until it is done. At most one with the same name and key waits in a space."""

    name: JobName
    scope: Scope
    key: str = ""
    at: datetime | None = None  # not before


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """What became of one attempt at a job: done; again at a time, not failed if what it waits for is not there yet; or, failed
    and not again, without an object any more."""

    job: Job
    seconds: float
    error_class: str | None = None  # the class of the error, never its message
    retry_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTicket:
    """A job that a worker has taken, and how often it was tried before."""

    id: int
    job: Job
    attempts: int
    worker: int
