"""The queue of background jobs: the tables of the schema `jobs`.

A job is enqueued in the transaction of the rows that it is about, so both are written or neither is."""

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

from muniment.memory.domain.jobs import Job, JobName, JobTicket
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import StoreError
from muniment.memory.ports.jobs import JobQueue
from muniment.memory.rules.policy.retry import MAX_WAIT_SECONDS
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.errors import translate_errors
from muniment.memory.stores.postgres.connection.keepalive import enable_keepalive
from muniment.memory.stores.postgres.connection.pool import PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks
from muniment.memory.stores.postgres.writes import JOB_PRIORITY, send_jobs

_JOBS = load_blocks("jobs")
_CHANNEL = "muniment_jobs#"  # the trigger `queue_notify` notifies this channel, with the job's name behind it
_DEDUP_INDEX = "queue_dedup_key"
_QUIET_SECONDS = 60.0
_FIRST = datetime(1, 1, 1, tzinfo=UTC)
# A worker takes the job with the highest priority first: a job that steps aside lets later jobs of its lock pass.
_ASIDE = JOB_PRIORITY - 1


class PostgresJobQueue(JobQueue):
    """The `JobQueue` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def enqueue_jobs(self, jobs: Sequence[Job]) -> None:
        async with self._connections.working() as conn:
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

    async def take_job(
        self, worker: int, names: Sequence[JobName], own_names: Sequence[JobName] = ()
    ) -> JobTicket | None:
        middle = str(uuid4())  # all spaces have the same chance to be first, and so have turns and other jobs
        params: dict[str, Any] = {"worker": worker, "names": list(names), "own_names": list(own_names)}
        bounds = [(middle, None), ("", middle)]
        ways: list[tuple[str, dict[str, Any]]] = [
            ("take_in_order", {"start": start, "end": end}) for start, end in bounds
        ]
        ways.insert(choice((0, 2)), ("take_by_time", {}))  # noqa: S311 - not a secret
        async with self._connections.working() as conn:
            await conn.execute(_JOBS["by_index"])
            for block, range_ in ways:
                if row := await (await conn.execute(_JOBS[block], params | range_)).fetchone():
                    return _parse_ticket(row, worker)
        return None

    async def finish_job(self, ticket: JobTicket) -> None:
        await self._execute_together("finish", id=ticket.id, worker=ticket.worker)

    async def reschedule_job(
        self, ticket: JobTicket, wait: timedelta, *, step_aside: bool = False, error_class: str | None = None
    ) -> None:
        priority = _ASIDE if step_aside else JOB_PRIORITY
        params: dict[str, Any] = {"id": ticket.id, "worker": ticket.worker, "wait": wait, "priority": priority}
        params["error"] = error_class
        try:
            await self._execute_together("reschedule", **params)
        except StoreError as error:
            if error.data.get("constraint") != _DEDUP_INDEX:
                raise
            await self._execute_together("reschedule", **params)  # its twin was enqueued at this moment

    async def hasten_job(self, job_id: int, *, tenant: str, scope: Scope | None) -> bool:
        space = scope.space if scope else None
        return await self._fetch_row("hasten", id=job_id, tenant=tenant, space=space) is not None

    async def count_jobs(self) -> dict[str, dict[str, int]]:
        async with self._connections.working() as conn:
            counts = await (await conn.execute(_JOBS["counts"])).fetchall()
        return {row.pop("name"): row for row in counts}

    async def listen_for_jobs(self, names: Sequence[JobName]) -> AsyncIterator[None]:
        address = await self._connections.find_address()
        with translate_errors("listening for jobs"):
            async with await psycopg.AsyncConnection.connect(address, autocommit=True) as conn:
                # Behind a pooler nothing can listen: the server would notify any connection of the pool.
                is_direct = await enable_keepalive(conn)
                for name in names if is_direct else ():
                    await conn.execute(sql.SQL("listen {}").format(sql.Identifier(_CHANNEL + name)))
                while is_direct:
                    yield  # also at the start: jobs may have come before it listened
                    async with aclosing(conn.notifies(timeout=_QUIET_SECONDS, stop_after=1)) as notifications:
                        async for _ in notifications:
                            pass
                    await conn.execute("select")  # raises when the connection was lost silently
        yield
        await asyncio.sleep(_QUIET_SECONDS)

    async def list_unextracted_turns(self, scope: Scope, after: Turn | None, limit: int) -> list[Turn]:
        start = {"at": after.at, "turn_id": after.id} if after else {"at": _FIRST, "turn_id": UUID(int=0)}
        params = {"space": scope.space, "limit": limit} | start
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_JOBS["unextracted"], params)
            return [rows.parse_turn(row) for row in await cursor.fetchall()]

    async def _fetch_row(self, name: str, **values: Any) -> DictRow | None:
        async with self._connections.working() as conn:
            return await (await conn.execute(_JOBS[name], values)).fetchone()

    async def _execute_together(self, *names: str, **values: Any) -> int:
        """Execute blocks in one transaction; return how many rows the last one changed."""
        async with self._connections.working() as conn:
            for name in names:
                cursor = await conn.execute(_JOBS[name], values)
        return cursor.rowcount


def _parse_ticket(row: DictRow, worker: int) -> JobTicket:
    args = row["args"]
    scope = Scope(tenant=args["tenant"], owner=args["owner"], owner_type=args["owner_type"])
    job = Job(name=row["name"], scope=scope, key=args["key"])
    return JobTicket(id=row["id"], job=job, attempts=row["attempts"], worker=worker)
