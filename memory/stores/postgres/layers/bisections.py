"""The replies of bisections in Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from muniment.memory.domain.layers.bisection import ReplayAnswer
from muniment.memory.domain.scope import Scope
from muniment.memory.ports.layers.bisections import ReplayStore
from muniment.memory.stores.postgres.connection.pool import PostgresConnections
from muniment.memory.stores.postgres.sql import load_blocks

_BLOCKS = load_blocks("bisections")


class PostgresReplays(ReplayStore):
    """The `ReplayStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def list_answers(self, scope: Scope, bisection: UUID) -> Sequence[ReplayAnswer]:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_BLOCKS["answers"], {"space": scope.space, "bisection": bisection})
            return [
                ReplayAnswer(
                    subset=frozenset(row["statements"]),
                    attempt=row["attempt"],
                    holds=row["holds"],
                    reply=row["reply"],
                    strayed=row["strayed"],
                )
                for row in await cursor.fetchall()
            ]

    async def keep_answer(self, scope: Scope, bisection: UUID, answer: ReplayAnswer, at: datetime) -> None:
        params = {
            "space": scope.space,
            "bisection": bisection,
            "statements": sorted(answer.subset),
            "attempt": answer.attempt,
            "holds": answer.holds,
            "reply": answer.reply,
            "strayed": answer.strayed,
            "at": at,
        }
        async with self._connections.writing(scope, found_at=at) as conn:
            await conn.execute(_BLOCKS["keep"], params)

    async def drop_answers(self, scope: Scope, bisection: UUID) -> None:
        async with self._connections.writing(scope) as conn:
            await conn.execute(_BLOCKS["drop"], {"space": scope.space, "bisection": bisection})
