"""All that is kept of one person, read from Postgres in portions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, LiteralString

from muniment.memory.domain.layers.person import PERSON_TABLES
from muniment.memory.domain.scope import Scope
from muniment.memory.ports.layers.person import PersonReads, PersonSnapshot
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_PERSON = load_blocks("person")
_PORTION = 200  # rows that are held at once
# A table -> its name in SQL, and the order of its rows.
_ORDERS: Mapping[str, tuple[LiteralString, LiteralString]] = {
    "spaces": ("spaces", "t.space_id"),
    "memories": ("memories", "t.created_at, t.memory_id"),
    "memory_versions": ("memory_versions", "t.from_rev, t.memory_id"),
    "journal": ("journal", "t.rev"),
    "relations": ("relations", "t.from_id, t.to_id"),
    "projections": ("projections", "t.type, t.at, t.projection_id"),
    "consent_requests": ("consent_requests", "t.asked_at, t.request_id"),
    "erasures": ("erasures", "t.at, t.erasure_id"),
    "sessions": ("sessions", "t.started_at, t.session_id"),
    "turns": ("turns", "t.at, t.session_id, t.position, t.turn_id"),
    "thread_revision": ("thread_revision", "t.thread_id"),
    "observations": ("observations", "t.at, t.observation_id"),
    "extractions": ("extractions", "t.at, t.turn_id, t.source"),
    "items": ("items", "t.namespace, t.key"),
    "host_items": ("host_items", "t.item_id"),
    "requests": ("requests", "t.at, t.key"),
    "events": ("events", "t.ts, t.event_id"),
    "consolidation_runs": ("consolidation_runs", "t.started_at, t.run_id"),
    "pair_fingerprints": ("pair_fingerprints", "t.low_id, t.high_id, t.score"),
    "bisect_replies": ("bisect_replies", "t.at, t.bisection_id, t.statements, t.attempt"),
    "plugin_turns": ("plugin_turns", "t.at, t.session_id, t.turn_id"),
    "plugin_switches": ("plugin_switches", "t.session_id"),
    "plugin_audit": ("plugin_audit", "t.at, t.audit_id"),
    "proxy_days": ("proxy_days", "t.day, t.token_id"),
    "shares": ("shares", "t.since, t.reader_id"),
}


class PostgresPersonReads(PersonReads):
    """The `PersonReads` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    @asynccontextmanager
    async def open_snapshot(self, scope: Scope) -> AsyncIterator[PersonSnapshot]:
        async with self._connections.reading(scope) as conn:
            yield _Snapshot(conn, scope)


class _Snapshot(PersonSnapshot):
    """One transaction; a cursor of the server at a time."""

    def __init__(self, conn: Connection, scope: Scope) -> None:
        self._conn, self._space = conn, {"space": scope.space}

    async def count_rows(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for name in PERSON_TABLES:
            cursor = await self._conn.execute(_PERSON["count"].replace("{table}", _ORDERS[name][0]), self._space)
            counts[name] = require_row(await cursor.fetchone())["rows"]
        return counts

    async def describe_readers(self) -> dict[str, Any]:
        readers: dict[str, Any] = require_row(await (await self._conn.execute(_PERSON["readers"])).fetchone())["row"]
        return readers

    def read_export(self) -> AsyncIterator[list[dict[str, Any]]]:
        return self._read_rows(_PERSON["export"])

    def read_content(self) -> AsyncIterator[list[dict[str, Any]]]:
        return self._read_rows(_PERSON["content"])

    def read_table(self, table: str) -> AsyncIterator[list[dict[str, Any]]]:
        name, order = _ORDERS[table]
        return self._read_rows(_PERSON["table"].replace("{table}", name).replace("{order}", order))

    def read_memories(self, states: tuple[str, ...]) -> AsyncIterator[list[dict[str, Any]]]:
        return self._read_rows(_PERSON["memories"], {"states": list(states)})

    def read_texts(self) -> AsyncIterator[list[dict[str, Any]]]:
        return self._read_rows(_PERSON["texts"])

    def read_recalls(self) -> AsyncIterator[list[dict[str, Any]]]:
        return self._read_rows(_PERSON["recalls"])

    def read_shown_items(self) -> AsyncIterator[list[dict[str, Any]]]:
        return self._read_rows(_PERSON["shown_items"])

    async def _read_rows(
        self, declare: LiteralString, params: Mapping[str, Any] | None = None
    ) -> AsyncIterator[list[dict[str, Any]]]:
        # A cursor is declared anew for each reading: a prepared statement of that name would be of another one.
        await self._conn.execute(declare, {**self._space, **(params or {})}, prepare=False)
        fetch = _PERSON["fetch"].replace("{most}", str(_PORTION))
        while rows := [row["row"] for row in await (await self._conn.execute(fetch, prepare=False)).fetchall()]:
            yield rows
        await self._conn.execute(_PERSON["close"], prepare=False)
