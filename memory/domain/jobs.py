"""Background jobs: what is enqueued, taken and reported."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from muniment.memory.domain.scope import Scope

JobName = Literal[
    "extract", "build", "build_missed", "reflect", "expire", "index", "round", "tend", "collect", "learn", "learn_path",
    "embed", "end_sessions", "reembed",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A background job, in the database until it is done. At most one of a name and key waits in a space."""

    name: JobName
    scope: Scope
    key: str = ""
    at: datetime | None = None  # not before
    turns: int = 0  # of the user that have to wait in the session of this key; with fewer it is no job


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """The outcome of one attempt at a job: done, or failed with `error_class`; tried again at `retry_at`, if that is
    set."""

    job: Job
    seconds: float
    error_class: str | None = None  # the class of the error, never its message
    retry_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTicket:
    """A job that a worker has taken; `attempts` is how often it was tried before."""

    id: int
    job: Job
    attempts: int
    worker: int
