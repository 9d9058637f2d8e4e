"""The queue of background jobs: the tables of the schema `jobs`.

Jobs are enqueued in the transaction of what they are about, so they are lost or kept with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from random import choice
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg import sql
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from muniment.memory.domain.jobs import Job, JobName, JobTicket
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import StoreError
from muniment.memory.ports.jobs import JobQueue
from muniment.memory.rules.policy.retry import MAX_WAIT_SECONDS
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.errors import translate_errors
from muniment.memory.stores.postgres.connection.keepalive import enable_keepalive
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_JOBS = load_blocks("jobs")
_CHANNEL = "muniment_jobs#"  # the trigger `queue_notify` notifies this channel, with the job's name behind it
_DEDUP_INDEX = "queue_dedup_key"
_QUIET_SECONDS = 60.0
_FIRST = datetime(1, 1, 1, tzinfo=UTC)
# A worker takes the job with the highest priority first. What steps aside lets the later jobs of its lock pass.
_PRIORITY, _ASIDE = 0, -1


async def send_jobs(conn: Connection, jobs: Sequence[Job]) -> None:
    """Enqueue in the caller's transaction; in a pipeline it waits for nothing.

    A job that waits already, with the same name and key in the same space, is the same job: it keeps its time."""
    for job in jobs:
        await conn.execute(_JOBS["enqueue"], encode_job(job))


class PostgresJobQueue(JobQueue):
    """The `JobQueue` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def enqueue_jobs(self, jobs: Sequence[Job]) -> None:
        async with self._connections.statement(once=False) as conn:
            await send_jobs(conn, jobs)

    async def register_worker(self) -> int:
        return int(require_row(await self._fetch_row("register"))["worker_id"])

    async def record_heartbeat(self, worker: int) -> bool:
        return await self._fetch_row("heartbeat", worker=worker) is not None

    async def unregister_worker(self, worker: int) -> None:
        await self._execute_together("drop_own_twins", "release", "unregister", worker=worker)

    async def requeue_abandoned(self, seconds: float) -> int:
        return await self._execute_together(
            "delete_dead_workers", "drop_twins", "requeue", seconds=seconds, longest=MAX_WAIT_SECONDS
        )

    async def take_job(self, worker: int, names: Sequence[JobName]) -> JobTicket | None:
        middle = str(uuid4())  # all spaces have the same chance to be first, and so have turns and all else
        asked: dict[str, Any] = {"worker": worker, "names": list(names)}
        ways = [
            ("take_in_order", asked | {"start": start, "end": end}) for start, end in ((middle, None), ("", middle))
        ]
        ways.insert(choice((0, 2)), ("take_by_time", asked))  # noqa: S311 - not a secret
        async with self._connections.transaction() as conn:
            await conn.execute(_JOBS["by_index"])
            for name, named in ways:
                if row := await (await conn.execute(_JOBS[name], named)).fetchone():
                    return _parse_ticket(row, worker)
        return None

    async def finish_job(self, ticket: JobTicket) -> None:
        await self._execute_together("finish", id=ticket.id, worker=ticket.worker)

    async def reschedule_job(self, ticket: JobTicket, wait: timedelta, *, step_aside: bool = False) -> None:
        wanted = {
            "id": ticket.id,
            "worker": ticket.worker,
            "wait": wait,
            "priority": _ASIDE if step_aside else _PRIORITY,
        }
        try:
            await self._execute_together("reschedule", **wanted)
        except StoreError as error:
            if error.data.get("constraint") != _DEDUP_INDEX:
                raise
            await self._execute_together("reschedule", **wanted)  # its twin came at this very moment; now it is seen

    async def count_jobs(self) -> dict[str, dict[str, int]]:
        async with self._connections.statement() as conn:
            found = await (await conn.execute(_JOBS["counts"])).fetchall()
        return {row.pop("name"): row for row in found}

    async def listen_for_jobs(self, names: Sequence[JobName]) -> AsyncIterator[None]:
        """Behind a pooler nobody is called: what listens would be any connection of the pool."""
        with translate_errors("listening for jobs"):
            async with await psycopg.AsyncConnection.connect(
                await self._connections.find_address(), autocommit=True
            ) as conn:
                own = await enable_keepalive(conn)
                for name in names if own else ():
                    await conn.execute(sql.SQL("listen {}").format(sql.Identifier(_CHANNEL + name)))
                while own:
                    yield  # also at the start: what came before it listened
                    async with aclosing(conn.notifies(timeout=_QUIET_SECONDS, stop_after=1)) as heard:
                        async for _ in heard:
                            pass
                    await conn.execute("select")  # a connection that is lost without a word is noticed here
        yield
        await asyncio.sleep(_QUIET_SECONDS)

    async def list_unextracted_turns(self, scope: Scope, after: Turn | None, limit: int) -> list[Turn]:
        start = {"at": after.at, "turn_id": after.id} if after else {"at": _FIRST, "turn_id": UUID(int=0)}
        asked = {"space": scope.space, "limit": limit} | start
        async with self._connections.reading(scope) as conn:
            return [rows.parse_turn(row) for row in await (await conn.execute(_JOBS["unextracted"], asked)).fetchall()]

    async def _fetch_row(self, name: str, **values: Any) -> DictRow | None:
        async with self._connections.statement() as conn:
            return await (await conn.execute(_JOBS[name], values)).fetchone()

    async def _execute_together(self, *names: str, **values: Any) -> int:
        """Several statements in one transaction; the rows that the last one touched."""
        async with self._connections.transaction() as conn:
            for name in names:
                touched = (await conn.execute(_JOBS[name], values)).rowcount
        return touched


def encode_job(job: Job) -> dict[str, Any]:
    """A job as the queue has it."""
    scope = job.scope
    dedup_key = f"{scope.space}:{job.name}:{job.key}"
    return {
        "name": job.name,
        "priority": _PRIORITY,
        # What is learned of a space is learned in order. What waits for its hour must not hold that up.
        "lock": str(scope.space) if job.name == "extract" else dedup_key,
        "dedup_key": dedup_key,
        "args": Jsonb({"tenant": scope.tenant, "owner": scope.owner, "owner_type": scope.owner_type, "key": job.key}),
        "at": job.at,
    }


def _parse_ticket(row: DictRow, worker: int) -> JobTicket:
    args = row["args"]
    scope = Scope(tenant=args["tenant"], owner=args["owner"], owner_type=args["owner_type"])
    job = Job(name=row["name"], scope=scope, key=args["key"])
    return JobTicket(id=row["id"], job=job, attempts=row["attempts"], worker=worker)
