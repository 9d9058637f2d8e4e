"""What was kept of the turns of chats, in Postgres."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.ports.layers.chats import ChatStore
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_CHATS = load_blocks("chats")


class PostgresChats(ChatStore):
    """The `ChatStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def read_end(self, scope: Scope, session: str, limit: int) -> list[Turn]:
        params = {"space": scope.space, "session": session, "limit": limit}
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_CHATS["end"], params)
            return [rows.parse_turn(row) for row in reversed(await cursor.fetchall())]

    async def find_said_in(self, scope: Scope, session: str, memories: Sequence[MemoryId]) -> frozenset[MemoryId]:
        params = {"space": scope.space, "said_in": session, "memories": list(memories)}
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_CHATS["said_in"], params)
            return frozenset(MemoryId(row["memory_id"]) for row in await cursor.fetchall())

    async def has_kept(self, scope: Scope, session: str, since: int, until: int) -> bool:
        params = {"space": scope.space, "session": session, "since": since, "until": until}
        async with self._connections.reading(scope) as conn:
            return bool(require_row(await (await conn.execute(_CHATS["has_kept"], params)).fetchone())["yes"])
