"""What counts against the caps, in Postgres: the changes of a day, and the memories of a turn."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from muniment.memory.domain.ids import MemoryId, TurnId
from muniment.memory.domain.journal import Node
from muniment.memory.domain.scope import Scope
from muniment.memory.stores.postgres.connection.pool import PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_CAPS = load_blocks("caps")


class PostgresQuotas(PostgresConnections):
    """Counts for the caps on writing."""

    async def count_changes(self, scope: Scope, since: datetime, nodes: Sequence[Node]) -> int:
        """See `Store.written`."""
        named = {"space": scope.space, "since": since, "nodes": list(nodes)}
        async with self._read_transaction(scope, None) as conn:
            return int(require_row(await (await conn.execute(_CAPS["written"], named)).fetchone())["changes"])

    async def find_supported(self, scope: Scope, turn: TurnId) -> frozenset[MemoryId]:
        """See `Store.supported`."""
        async with self._read_transaction(scope, None) as conn:
            cursor = await conn.execute(_CAPS["supported"], {"space": scope.space, "turn": turn})
            return frozenset(MemoryId(row["memory_id"]) for row in await cursor.fetchall())
