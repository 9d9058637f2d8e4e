"""The users of a tenant in Postgres: the keeper sees the names of spaces, and nothing in them."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.memory.ports.console.users import UserReads
from muniment.memory.stores.postgres.connection.pool import PostgresConnections
from muniment.memory.stores.postgres.sql import load_blocks

_SQL, _ROLES = load_blocks("console_users"), load_blocks("roles")


class PostgresUserReads(UserReads):
    """The `UserReads` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def find_users(self, tenant: str, part: str, limit: int) -> tuple[Sequence[str], int]:
        params = {"tenant": tenant, "part": part, "limit": limit}
        async with self._connections.transaction() as conn:
            await conn.execute(_ROLES["keeper"])
            rows = await (await conn.execute(_SQL["users"], params)).fetchall()
        return [row["owner"] for row in rows], int(rows[0]["total"]) if rows else 0
