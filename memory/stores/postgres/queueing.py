"""Enqueues jobs in the transaction of the rows that they are about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg.types.json import Jsonb

from muniment.memory.domain.jobs import Job, JobName
from muniment.memory.stores.postgres.connection.pool import Connection
from muniment.memory.stores.postgres.sql import load_blocks

_JOBS = load_blocks("jobs")
JOB_PRIORITY = 0
_IN_ORDER: frozenset[JobName] = frozenset({"extract", "build", "build_missed", "end_sessions"})


async def send_jobs(conn: Connection, jobs: Sequence[Job]) -> None:
    """Enqueue in the caller's transaction, without waiting in a pipeline. A job that waits already keeps its time."""
    for job in jobs:
        await conn.execute(_JOBS["enqueue_full" if job.turns else "enqueue"], encode_job(job))


def encode_job(job: Job) -> dict[str, Any]:
    """Return the row of a job."""
    scope = job.scope
    dedup_key = f"{scope.space}:{job.name}:{job.key}"
    return {
        "name": job.name,
        "priority": JOB_PRIORITY,
        # Turns of a space are extracted in order; a job that waits for its time must not block them.
        "lock": str(scope.space) if job.name in _IN_ORDER else dedup_key,
        "dedup_key": dedup_key,
        "args": Jsonb({"tenant": scope.tenant, "owner": scope.owner, "owner_type": scope.owner_type, "key": job.key}),
        "at": job.at,
        "space": scope.space,
        "session": job.key,
        "turns": job.turns,
    }
