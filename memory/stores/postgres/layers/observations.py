"""Observations in Postgres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, LiteralString

from psycopg.rows import DictRow

from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.layers.observation import Observation, ObservationId
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.turn import Source, Turn
from muniment.memory.ports.layers.observations import ObservationStore
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import PostgresConnections
from muniment.memory.stores.postgres.sql import load_blocks

_OBSERVATIONS = load_blocks("observations")


class PostgresObservations(ObservationStore):
    """The `ObservationStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def list_of_session(self, reader: Reader, session: str, limit: int) -> list[Observation]:
        return await self._list_observations("of_session", reader, {"session": session, "limit": limit})

    async def list_of_memory(self, reader: Reader, memory: MemoryId) -> list[Observation]:
        return await self._list_observations("of_memory", reader, {"memory": memory})

    async def list_statements(self, scope: Scope, after: ObservationId, limit: int) -> list[tuple[ObservationId, str]]:
        params = {"space": scope.space, "after": after, "limit": limit}
        async with self._connections.reading(scope) as conn:
            found = await (await conn.execute(_OBSERVATIONS["statements"], params)).fetchall()
        return [(ObservationId(row["observation_id"]), row["statement"]) for row in found]

    async def list_sources(self, scope: Scope, turns: Sequence[TurnId]) -> Mapping[TurnId, frozenset[Source]]:
        params = {"space": scope.space, "turns": list(turns)}
        async with self._connections.reading(scope) as conn:
            found = await (await conn.execute(_OBSERVATIONS["sources"], params)).fetchall()
        return {TurnId(row["turn_id"]): frozenset(row["sources"]) for row in found}

    async def list_later_turns(self, scope: Scope, since: datetime, limit: int) -> list[Turn]:
        params = {"space": scope.space, "since": since, "limit": limit}
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_OBSERVATIONS["later_turns"], params)
            return [rows.parse_turn(row) for row in await cursor.fetchall()]

    async def list_forgotten(self, scope: Scope, since: datetime, limit: int) -> list[StoredMemory]:
        params = {"space": scope.space, "since": since, "limit": limit}
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_OBSERVATIONS["forgotten"], params)
            return [rows.parse_memory(row) for row in await cursor.fetchall()]

    async def _list_observations(
        self, block: LiteralString, reader: Reader, params: Mapping[str, Any]
    ) -> list[Observation]:
        async with self._connections.reading(reader.scope, reader.allowed) as conn:
            cursor = await conn.execute(_OBSERVATIONS[block], {**params, "space": reader.scope.space})
            return parse_observations(await cursor.fetchall())


def parse_observations(found: Sequence[DictRow]) -> list[Observation]:
    """Parse rows of the `columns` block of observations.sql."""
    return [
        Observation(
            id=ObservationId(row["observation_id"]),
            session=row["session_id"],
            type=row["kind"],
            stable_key=row["stable_key"],
            statement=row["statement"],
            fact=rows.parse_fact(row["fact"]),
            category=row["category"],
            confidence=row["confidence"],
            importance=row["importance"],
            trust=row["trust"],
            turns=tuple(map(TurnId, row["turns"])),
            positions=tuple(row["positions"]),
            found_by=row["found_by"],
            memory=MemoryId(row["memory_id"]) if row["memory_id"] else None,
            outcome=row["outcome"],
            rev=Revision(row["rev"]),
            at=row["at"],
        )
        for row in found
    ]
