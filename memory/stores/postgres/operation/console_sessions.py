"""The console's logins in Postgres: the application opens, finds and ends one by its digest, and reads no other."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from muniment.memory.domain.scope import Grant
from muniment.memory.ports.operation.console_sessions import ConsoleSessionStore
from muniment.memory.stores.postgres.connection.pool import PostgresConnections, require_row
from muniment.memory.stores.postgres.operation.tokens import parse_grant
from muniment.memory.stores.postgres.sql import load_blocks

_SQL = load_blocks("console_sessions")


class PostgresConsoleSessions(ConsoleSessionStore):
    """The `ConsoleSessionStore` port over connections that somebody else opens and closes."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def open_session(self, digest: bytes, token_id: UUID, at: datetime, until: datetime) -> bool:
        params = {"digest": digest, "token": token_id, "at": at, "until": until}
        async with self._connections.transaction() as conn:
            row = await (await conn.execute(_SQL["open"], params)).fetchone()
        return bool(require_row(row)["yes"])

    async def use_session(self, digest: bytes, at: datetime) -> Grant | None:
        async with self._connections.transaction() as conn:
            row = await (await conn.execute(_SQL["use"], {"digest": digest, "at": at})).fetchone()
        return parse_grant(row) if row else None

    async def end_session(self, digest: bytes) -> None:
        async with self._connections.transaction() as conn:
            await conn.execute(_SQL["end"], {"digest": digest})
