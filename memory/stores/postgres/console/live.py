"""By what open pages learn in Postgres that something has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from muniment.memory.domain.ids import Revision
from muniment.memory.domain.scope import Reader
from muniment.memory.ports.console.live import LiveReads, Version
from muniment.memory.stores.postgres.connection.pool import PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_SQL, _ROLES = load_blocks("console_live"), load_blocks("roles")


class PostgresLiveReads(LiveReads):
    """The `LiveReads` port over Postgres. The keeper sees the revisions of all spaces, and nothing in them."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def read_versions(self, spaces: Sequence[UUID]) -> Mapping[UUID, Version]:
        async with self._connections.transaction() as conn:
            await conn.execute(_ROLES["keeper"])
            found = await (await conn.execute(_SQL["versions"], {"spaces": list(spaces)})).fetchall()
        return {row["space_id"]: (Revision(row["rev"]), row["created_at"]) for row in found}

    async def count_changes(self, reader: Reader, since: Revision, limit: int) -> int:
        params = {"space": reader.scope.space, "since": since, "limit": limit}
        async with self._connections.reading(reader.scope, reader.allowed) as conn:
            row = require_row(await (await conn.execute(_SQL["changes"], params)).fetchone())
        return int(row["changes"])
