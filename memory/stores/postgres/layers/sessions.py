"""Sessions in Postgres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.layers.session import Session, SessionChange, SessionPage, SessionRequest, TurnHit
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.ports.layers.sessions import SessionStore
from muniment.memory.rules.language.tokens import BACKGROUND_SIZE, WEIGHT_CEILING
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_SESSIONS, _WRITE, _ROLES = map(load_blocks, ("sessions", "write", "roles"))
_NAMES = {"session_id": "id", "app_id": "app", "project_id": "project", "agent_id": "agent"}


class PostgresSessions(SessionStore):
    """The `SessionStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def list_sessions(self, scope: Scope, request: SessionRequest) -> SessionPage:
        params = {"space": scope.space} | asdict(request)
        async with self._connections.reading(scope) as conn:
            page = await conn.execute(_SESSIONS["list"], params)
            count = await conn.execute(_SESSIONS["count"], params)
            sessions = tuple(map(_parse_session, await page.fetchall()))
            return SessionPage(sessions=sessions, total=require_row(await count.fetchone())["total"])

    async def get_session(self, scope: Scope, session: str) -> Session | None:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_SESSIONS["get"], {"space": scope.space, "session": session})
            row = await cursor.fetchone()
        return _parse_session(row) if row else None

    async def read_turns(self, scope: Scope, session: str, *, since: int, limit: int) -> list[Turn]:
        params = {"space": scope.space, "session": session, "since": since, "limit": limit}
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_SESSIONS["turns"], params)
            return [rows.parse_turn(row) for row in await cursor.fetchall()]

    async def number_turns(self, scope: Scope, now: datetime) -> None:
        async with self._connections.sending(scope) as conn:
            await conn.execute(_WRITE["number_turns"], {"space": scope.space, "now": now})

    async def mark_built(self, scope: Scope, session: str, position: int) -> None:
        await self._change(scope, session, "mark_built", position=position)

    async def end_session(self, scope: Scope, session: str, at: datetime, why: str) -> Session | None:
        return await self._change(scope, session, "end", at=at, why=why)

    async def change_session(self, scope: Scope, session: str, change: SessionChange) -> Session | None:
        values = asdict(change) | {"metadata": Jsonb(dict(change.metadata))}
        return await self._change(scope, session, "change", **values)

    async def list_idle_spaces(self, before: datetime, limit: int) -> list[Scope]:
        async with self._connections.transaction() as conn:
            await conn.execute(_ROLES["keeper"])
            cursor = await conn.execute(_SESSIONS["idle_spaces"], {"before": before, "limit": limit})
            return [rows.parse_scope(row) for row in await cursor.fetchall()]

    async def list_idle(self, scope: Scope, before: datetime, limit: int) -> list[str]:
        params = {"space": scope.space, "before": before, "limit": limit}
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_SESSIONS["idle"], params)
            return [row["session_id"] for row in await cursor.fetchall()]

    async def list_unread_turns(self, scope: Scope, limit: int) -> list[Turn]:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_SESSIONS["unread"], {"space": scope.space, "limit": limit})
            return [rows.parse_turn(row) for row in await cursor.fetchall()]

    async def write_words(self, scope: Scope, words: Mapping[TurnId, Mapping[int, float]]) -> None:
        vectors = [rows.encode_sparse_vector(weights) for weights in words.values()]
        async with self._connections.sending(scope) as conn:
            await conn.execute(_SESSIONS["write_words"], {"space": scope.space, "ids": list(words), "words": vectors})

    async def search_turns(
        self,
        scope: Scope,
        dimensions: Sequence[int],
        session: str | None,
        limit: int,
        *,
        app: str | None = None,
        unkept: bool = False,
    ) -> list[TurnHit]:
        params: dict[str, Any] = {
            "space": scope.space,
            "session": session,
            "limit": limit,
            "unkept": unkept,
            "app": app,
        }
        params |= {"units": rows.encode_unit_vectors((dimension,) for dimension in dimensions)}
        params |= {"heard": rows.encode_sparse_vector(dict.fromkeys(dimensions, 1.0))}
        params |= {"background": BACKGROUND_SIZE, "highest": WEIGHT_CEILING}
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_SESSIONS["search"], params)
            return [TurnHit(turn=rows.parse_turn(row), score=row["score"]) for row in await cursor.fetchall()]

    async def _change(self, scope: Scope, session: str, block: LiteralString, **values: Any) -> Session | None:
        params = {"space": scope.space, "session": session} | values
        async with self._connections.sending(scope) as conn:
            await conn.execute(_SESSIONS[block], params)
            cursor = await conn.execute(_SESSIONS["get"], params)
            row = await cursor.fetchone()
        return _parse_session(row) if row else None


def _parse_session(row: Mapping[str, Any]) -> Session:
    return Session(**{_NAMES.get(name, name): value for name, value in row.items()})
