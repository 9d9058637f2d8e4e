"""Messages of sessions in Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.layers.message import KNOWN_MESSAGES
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.ports.layers.messages import MessageStore
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import PostgresConnections, require_row
from muniment.memory.stores.postgres.queueing import send_jobs
from muniment.memory.stores.postgres.sql import load_blocks

_MESSAGES = load_blocks("messages")


class PostgresMessages(MessageStore):
    """The `MessageStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def append_messages(
        self,
        scope: Scope,
        session: str,
        messages: Sequence[tuple[Turn, bytes]],
        *,
        earlier: int,
        days: int | None,
        now: datetime,
        jobs: Sequence[Job] = (),
    ) -> list[TurnId]:
        params = {"space": scope.space, "session": session, "earlier": earlier, "latest": KNOWN_MESSAGES}
        params |= {"messages": rows.encode_messages(scope, messages), "days": days, "now": now}
        async with self._connections.sending(scope, now) as conn:
            cursor = await conn.execute(_MESSAGES["append"], params)
            await send_jobs(conn, jobs)
        return [TurnId(id_) for id_ in require_row(await cursor.fetchone())["added"]]

    async def read_window(self, scope: Scope, session: str, size: int) -> list[Turn]:
        async with self._connections.reading(scope) as conn:
            params = {"space": scope.space, "session": session, "size": size}
            cursor = await conn.execute(_MESSAGES["window"], params)
            return [rows.parse_turn(row) for row in reversed(await cursor.fetchall())]
