"""Resources in Postgres."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.memory.domain.layers.resources import KnownStatement, Resource
from muniment.memory.domain.scope import Scope
from muniment.memory.ports.layers.resources import ResourceStore
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import PostgresConnections
from muniment.memory.stores.postgres.sql import load_blocks

_BLOCKS = load_blocks("resources")


class PostgresResources(ResourceStore):
    """The `ResourceStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def list_resources(self, scope: Scope) -> Sequence[Resource]:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_BLOCKS["list"], {"space": scope.space})
            return [Resource(**row) for row in await cursor.fetchall()]

    async def list_statements(self, scope: Scope, uri: str) -> Sequence[KnownStatement]:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_BLOCKS["statements"], {"space": scope.space, "uri": uri})
            return [KnownStatement(memory=rows.parse_memory(row), why=row["why"]) for row in await cursor.fetchall()]
