"""The items of hosts in Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from muniment.memory.domain.layers.host_items import HostItem
from muniment.memory.domain.scope import Scope
from muniment.memory.ports.layers.host_items import HostItemStore
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections
from muniment.memory.stores.postgres.sql import load_blocks

_BLOCKS = load_blocks("host_items")


class PostgresHostItems(HostItemStore):
    """The `HostItemStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def find_items(self, scope: Scope, ids: Sequence[UUID]) -> dict[UUID, HostItem]:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_BLOCKS["find"], {"space": scope.space, "ids": list(dict.fromkeys(ids))})
            return {row["id"]: HostItem(**row) for row in await cursor.fetchall()}

    async def was_forgotten(self, scope: Scope, said: bytes) -> bool:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_BLOCKS["find_said"], {"space": scope.space, "said": said})
            return await cursor.fetchone() is not None

    async def mark_forgotten(self, scope: Scope, item_id: UUID, at: datetime, said: bytes | None) -> None:
        params = {"space": scope.space, "id": item_id, "at": at, "said": said}
        async with self._connections.sending(scope) as conn:
            await conn.execute(_BLOCKS["forget"], params)


async def send_host_items(conn: Connection, scope: Scope, items: Sequence[HostItem]) -> None:
    """Send where ids lead, in the transaction of a plan. One that was forgotten ends it."""
    params = {
        "space": scope.space,
        "ids": [item.id for item in items],
        "memories": [item.memory for item in items],
        "digests": [item.digest for item in items],
        "said": [item.said for item in items],
    }
    await conn.execute(_BLOCKS["keep"], params)
    await conn.execute(_BLOCKS["check_kept"], params)
