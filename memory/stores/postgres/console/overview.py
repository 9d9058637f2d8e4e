"""Counts of a space in Postgres for the first page of the console."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from muniment.memory.domain.console.overview import CountChange, DayActivity, SpaceFigures
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.ports.console.overview import OverviewReads
from muniment.memory.stores.postgres.connection.pool import PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_SQL = load_blocks("console_overview")


class PostgresOverviewReads(OverviewReads):
    """The `OverviewReads` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def list_count_changes(self, reader: Reader, since: date) -> Sequence[CountChange]:
        params = {"space": reader.scope.space, "allowed": sorted(reader.allowed), "since": since}
        async with self._connections.reading(reader.scope) as conn:
            rows = await (await conn.execute(_SQL["count_changes"], params)).fetchall()
        return [CountChange(**row) for row in rows]

    async def list_days(self, scope: Scope, since: date) -> Sequence[DayActivity]:
        async with self._connections.reading(scope) as conn:
            rows = await (await conn.execute(_SQL["days"], {"space": scope.space, "since": since})).fetchall()
        return [DayActivity(**row) for row in rows]

    async def read_figures(self, scope: Scope) -> SpaceFigures:
        async with self._connections.reading(scope) as conn:
            row = require_row(await (await conn.execute(_SQL["figures"], {"space": scope.space})).fetchone())
        return SpaceFigures(**row)

    async def read_database_size(self) -> int:
        async with self._connections.transaction() as conn:
            row = require_row(await (await conn.execute(_SQL["database_size"])).fetchone())
        return int(row["bytes"])
