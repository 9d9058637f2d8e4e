"""What stands around turns in Postgres, for the pages of threads of the console."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from muniment.memory.domain.ids import Revision, TurnId
from muniment.memory.domain.layers.observation import Observation
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.ports.console.threads import ThreadReads
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import PostgresConnections
from muniment.memory.stores.postgres.layers.observations import parse_observations
from muniment.memory.stores.postgres.sql import load_blocks

_SQL = load_blocks("console_threads")
_MAX_FINDINGS = 1_000


class PostgresThreadReads(ThreadReads):
    """The `ThreadReads` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def list_findings(self, reader: Reader, session: str, turns: Sequence[TurnId]) -> list[Observation]:
        params = {"space": reader.scope.space, "session": session, "turns": list(turns), "limit": _MAX_FINDINGS}
        async with self._connections.reading(reader.scope, reader.allowed) as conn:
            return parse_observations(await (await conn.execute(_SQL["findings"], params)).fetchall())

    async def find_turns(self, scope: Scope, turns: Sequence[TurnId]) -> list[Turn]:
        params = {"space": scope.space, "turns": list(turns)}
        async with self._connections.reading(scope) as conn:
            return [rows.parse_turn(row) for row in await (await conn.execute(_SQL["turns"], params)).fetchall()]

    async def find_revisions(self, scope: Scope, moments: Sequence[datetime]) -> list[Revision]:
        params = {"space": scope.space, "moments": list(moments)}
        async with self._connections.reading(scope) as conn:
            found = await (await conn.execute(_SQL["revisions"], params)).fetchall()
        return [Revision(row["rev"]) for row in found]
