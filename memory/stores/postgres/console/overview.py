"""Counts of a space in Postgres for the first page of the console."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.memory.domain.console.overview import MemoryCount
from muniment.memory.domain.scope import Reader
from muniment.memory.ports.console.overview import OverviewReads
from muniment.memory.stores.postgres.connection.pool import PostgresConnections
from muniment.memory.stores.postgres.sql import load_blocks

_SQL = load_blocks("console_overview")


class PostgresOverviewReads(OverviewReads):
    """The `OverviewReads` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def count_memories(self, reader: Reader) -> Sequence[MemoryCount]:
        async with self._connections.reading(reader.scope, reader.allowed) as conn:
            rows = await (await conn.execute(_SQL["memory_counts"], {"space": reader.scope.space})).fetchall()
        return [MemoryCount(**row) for row in rows]
