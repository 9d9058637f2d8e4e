"""What waits for a person in Postgres, and what persons have decided."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from muniment.memory.domain.console.inbox import InboxCounts
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.journal import JournalEntry
from muniment.memory.domain.memory import MAY_REPLACE, StoredMemory
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.ports.console.inbox import InboxReads
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_SQL = load_blocks("console_inbox")
_RECENT = 5_000  # lines of the journal in which decisions are looked for


class PostgresInboxReads(InboxReads):
    """The `InboxReads` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def count_waiting(self, scope: Scope, at: datetime, known: InboxCounts | None = None) -> InboxCounts:
        params = {"space": scope.space, "at": at, "mark": MAY_REPLACE}
        async with self._connections.reading(scope) as conn:
            version = await (await conn.execute(_SQL["version"], params)).fetchone()
            if version is None:
                return InboxCounts()
            if known is not None and (known.rev, known.founded_at) == (version["rev"], version["founded_at"]):
                return known
            row = require_row(await (await conn.execute(_SQL["counts"], params)).fetchone())
        return InboxCounts(**row, **version)

    async def list_doubtful(self, scope: Scope, limit: int) -> Sequence[StoredMemory]:
        params = {"space": scope.space, "mark": MAY_REPLACE, "limit": limit}
        async with self._connections.reading(scope) as conn:
            found = await (await conn.execute(_SQL["doubtful"], params)).fetchall()
        return [rows.parse_memory(row) for row in found]

    async def list_turns(self, scope: Scope, turns: Sequence[TurnId]) -> Sequence[Turn]:
        if not turns:
            return ()
        async with self._connections.reading(scope) as conn:
            found = await (await conn.execute(_SQL["turns"], {"space": scope.space, "turns": list(turns)})).fetchall()
        return [rows.parse_turn(row) for row in found]

    async def list_decisions(self, scope: Scope, decision: str | None, limit: int) -> Sequence[JournalEntry]:
        params = {"space": scope.space, "decision": decision, "recent": _RECENT, "limit": limit}
        async with self._connections.reading(scope) as conn:
            found = await (await conn.execute(_SQL["decisions"], params)).fetchall()
        return [rows.parse_entry(row) for row in found]
