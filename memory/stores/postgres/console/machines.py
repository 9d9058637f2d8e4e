"""The queue in Postgres as a person looks at it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg.rows import DictRow

from muniment.memory.domain.console.machines import JobCount, QueuedJob, WorkerSign
from muniment.memory.domain.scope import Scope
from muniment.memory.ports.console.machines import MachineReads
from muniment.memory.stores.postgres.connection.pool import PostgresConnections
from muniment.memory.stores.postgres.sql import load_blocks

_SQL = load_blocks("console_machines")


class PostgresMachineReads(MachineReads):
    """The `MachineReads` port over Postgres: a space is read by its own policies, a tenant as a worker reads it."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def count_jobs(self, of: Scope | str) -> Sequence[JobCount]:
        return [JobCount(**row) for row in await self._fetch_rows("counts", of)]

    async def list_jobs(self, of: Scope | str, limit: int) -> Sequence[QueuedJob]:
        return [QueuedJob(**row) for row in await self._fetch_rows("jobs", of, limit=limit)]

    async def list_workers(self) -> Sequence[WorkerSign]:
        async with self._connections.working() as conn:
            rows = await (await conn.execute(_SQL["workers"])).fetchall()
        return [WorkerSign(**row) for row in rows]

    async def _fetch_rows(self, name: str, of: Scope | str, **values: Any) -> list[DictRow]:
        if isinstance(of, Scope):
            async with self._connections.reading(of) as conn:
                cursor = await conn.execute(_SQL[name], values | {"space": of.space, "tenant": None})
                return await cursor.fetchall()
        async with self._connections.working() as conn:
            cursor = await conn.execute(_SQL[name], values | {"space": None, "tenant": of})
            return await cursor.fetchall()
