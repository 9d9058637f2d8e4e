"""The writes of a space in Postgres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from muniment.memory.domain.ids import MemoryId, Revision, Vector
from muniment.memory.domain.plan import PackedRow, Receipt, SpaceDump, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, StoreError
from muniment.memory.ports.writes import MemoryWrites
from muniment.memory.stores.postgres.bulk.bulk_insert import (
    STALE,
    BulkTables,
    analyze_tables,
    insert_rows,
    load_tables,
)
from muniment.memory.stores.postgres.bulk.transfer import UNFIT, build_unfit_error, load_rows
from muniment.memory.stores.postgres.commit import is_single_statement, send_plan
from muniment.memory.stores.postgres.connection.errors import translate_errors
from muniment.memory.stores.postgres.connection.pool import PostgresConnections
from muniment.memory.stores.postgres.sql import load_blocks

_WRITE, _TRANSFER = load_blocks("write"), load_blocks("transfer")
_REPLAYED = "MU001"  # the SQL state of a plan whose work is done
_BY_KEY = "memories_by_key"  # the index: one active memory has a stable key
_MAX_HEIRS = 16  # steps from a superseded memory to the one that stays


class PostgresWrites(MemoryWrites):
    """The `MemoryWrites` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections
        self._tables: BulkTables | None = None

    async def commit(self, plan: WritePlan) -> Receipt:
        alone = is_single_statement(plan)
        try:
            async with self._connections.statement() if alone else self._connections.sending(plan.scope) as conn:
                return await send_plan(conn, plan, self._connections.model)
        except StoreError as error:
            if error.data.get("sqlstate") == _REPLAYED:
                return Receipt(rev=plan.expected_rev, replayed=True)
            if error.data.get("constraint") == _BY_KEY:
                raise BadInput(
                    "another memory says this by now; to bring the old one back, forget that one first"
                ) from None
            raise

    async def pack_rows(self, plan: WritePlan) -> tuple[PackedRow, ...]:
        tables = await self._load_tables()
        turns = {turn.id: turn for turn in reversed(plan.turns)}
        with translate_errors():
            return tuple(
                PackedRow(
                    memory=tables.encode_memory(change),
                    turns={id_: tables.encode_turn(turns[id_]) for id_ in change.after.turns if id_ in turns},
                )
                for change in plan.changes
            )

    async def insert_packed(self, plan: WritePlan, packed_rows: Sequence[PackedRow]) -> int:
        try:
            added = await insert_rows(self._connections, await self._load_tables(), plan, packed_rows)
        except StoreError as error:
            if error.data.get("constraint") == _BY_KEY:
                raise BadInput("two memories that say the same, or one that is known already") from None
            self._forget_stale_tables(error)
            raise
        await analyze_tables(self._connections)
        return added

    async def dump_space(self, scope: Scope) -> SpaceDump:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_TRANSFER["dump"], {"space": scope.space})
            rows = [row["row"] for row in await cursor.fetchall()]
        return SpaceDump(rev=Revision(rows[0]["rev"] if rows else 0), rows=tuple(rows))

    async def read_content(self, scope: Scope) -> tuple[dict[str, Any], ...]:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_TRANSFER["content"], {"space": scope.space})
            return tuple(row["row"] for row in await cursor.fetchall())

    async def load_space(self, scope: Scope, dump: SpaceDump, vectors: Sequence[Vector]) -> None:
        try:
            await load_rows(self._connections, await self._load_tables(), scope, dump, vectors)
        except StoreError as error:
            self._forget_stale_tables(error)
            if str(error.data.get("sqlstate") or "").startswith(UNFIT):
                raise build_unfit_error(error) from None
            raise
        await analyze_tables(self._connections)

    async def advance_cursor(self, scope: Scope, thread: str, rev: Revision) -> None:
        async with self._connections.sending(scope) as conn:
            await conn.execute(_WRITE["advance_cursor"], {"space": scope.space, "thread": thread, "rev": rev})

    async def record_access(self, scope: Scope, counts: Mapping[MemoryId, int], at: datetime) -> frozenset[MemoryId]:
        accesses = {"ids": list(counts), "counts": list(counts.values()), "at": at}
        async with self._connections.sending(scope) as conn:
            cursor = await conn.execute(_WRITE["record_access"], {"space": scope.space, "steps": _MAX_HEIRS} | accesses)
            return frozenset(MemoryId(row["memory_id"]) for row in await cursor.fetchall())

    async def _load_tables(self) -> BulkTables:
        if self._tables is None:
            self._tables = await load_tables(self._connections)
        return self._tables

    def _forget_stale_tables(self, error: StoreError) -> None:
        """A migration in another process may have changed a table since its row type was read."""
        if error.data.get("sqlstate") == STALE:
            self._tables = None
