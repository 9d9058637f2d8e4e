"""Removal for good: what was in Postgres is in no row any more, and a receipt says how much it was."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Literal
from uuid import uuid4

from psycopg.types.json import Jsonb

from muniment.memory.domain.erasure import ErasureReceipt, MemoryStatement, Traces
from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.journal import Node
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import Conflict, NotFound
from muniment.memory.ports.erasure import ErasureStore
from muniment.memory.rules.retrieval.traits import index_text
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.schema.large_spaces import LISTS, SpaceIndexes
from muniment.memory.stores.postgres.sql import load_blocks

_ERASING, _ROLES = load_blocks("erasing"), load_blocks("roles")
# In this order: the lists know a memory by its words, and what refers to it goes before it.
_OF_MEMORIES = (
    "postings", "relations", "pair_fingerprints", "consent_requests", "events", "memory_versions", "memories", "journal",
)  # fmt: skip
_OF_TRACES = (
    ("memory_versions", "former"), ("turns", "turns"), ("extractions", "looks"), ("consent_requests", "signals"),
)  # fmt: skip
_OF_SPACE = (
    "relations", "memory_versions", "memories", "journal", "thread_revision", "turns", "extractions", "events",
    "consent_requests", "postings", "swept", "consolidation_runs", "pair_fingerprints", "spaces",
)  # fmt: skip


class PostgresErasure(ErasureStore):
    """The `ErasureStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections, indexes: SpaceIndexes) -> None:
        self._connections = connections
        self._indexes = indexes

    async def list_memory_texts(
        self, scope: Scope, after: tuple[MemoryId, Revision], limit: int
    ) -> list[MemoryStatement]:
        asked = {"space": scope.space, "after": after[0], "since": after[1], "limit": limit}
        async with self._connections.reading(scope) as conn:
            found = await (await conn.execute(_ERASING["stated"], asked)).fetchall()
        return [MemoryStatement(id=row.pop("memory_id"), turns=tuple(row.pop("turns")), **row) for row in found]

    async def list_turns(self, scope: Scope, after: TurnId, limit: int) -> list[Turn]:
        asked = {"space": scope.space, "after": after, "limit": limit}
        async with self._connections.reading(scope) as conn:
            return [rows.parse_turn(row) for row in await (await conn.execute(_ERASING["ledger"], asked)).fetchall()]

    async def find_threads(
        self, scope: Scope, ids: Sequence[MemoryId] | None = None, turns: Sequence[TurnId] = ()
    ) -> frozenset[str]:
        asked = {"space": scope.space, "ids": None if ids is None else list(ids), "turns": list(turns)}
        async with self._connections.reading(scope) as conn:
            found = await (await conn.execute(_ERASING["threads"], asked)).fetchall()
        return frozenset(row["thread_id"] for row in found if row["thread_id"] is not None)

    async def purge_memories(self, scope: Scope, ids: Sequence[MemoryId], at: datetime) -> ErasureReceipt:
        counts: dict[str, int] = {}
        async with self._erase_transaction(scope) as (conn, named):
            due = await conn.execute(_ERASING["due"], named | {"ids": list(ids), "at": at})
            found = {row["memory_id"]: row["rev"] for row in await due.fetchall()}
            if found:
                counts = await _delete_memories(conn, named, found, _build_line_params("worker", "purge", at))
                return await _write_receipt(conn, named, "purge", counts, at)
        return ErasureReceipt(id=uuid4(), what="purge", at=at)

    async def erase_memory(self, scope: Scope, memory_id: MemoryId, traces: Traces, at: datetime) -> ErasureReceipt:
        """Raises NotFound when the memory is gone."""
        async with self._erase_transaction(scope) as (conn, named):
            if named["rev"] != traces.rev:
                raise Conflict
            there = await conn.execute(_ERASING["there"], named | {"ids": [memory_id, *_list_ids(traces.built_on)]})
            found = {row["memory_id"]: row["rev"] for row in await there.fetchall()}
            if memory_id not in found:
                raise NotFound(f"no memory {memory_id} in the space of {scope.owner!r}", id=str(memory_id))
            line = _build_line_params("face", "erase", at, scope.actor)
            values = require_row(
                await (
                    await conn.execute(_ERASING["values"], named | _build_trace_params(traces, list(found)))
                ).fetchone()
            )
            counts = await _delete_memories(conn, named, found, line)
            named["rev"] += len(found)
            await _delete_traces(conn, named | line | values, traces, counts)
            return await _write_receipt(conn, named, "memory", counts, at)

    async def erase_space(self, scope: Scope, at: datetime) -> ErasureReceipt:
        """Raises Conflict while another process makes an index, StoreError for a role that may
        not drop the space's."""
        await self._indexes.drop_any(scope)
        async with self._erase_transaction(scope) as (conn, named):
            counts = {}
            # Of a space that is not there nothing is; one that is founded at this moment comes after the erasure.
            for table in _OF_SPACE if named["rev"] is not None else ():
                counts[table] = (await conn.execute(_ERASING[f"all_{table}"], named)).rowcount
            await conn.execute(_ROLES["app"])
            counts["jobs"] = (await conn.execute(_ERASING["jobs"], named)).rowcount
            done = ErasureReceipt(id=uuid4(), what="user", at=at)
            if any(counts.values()):
                await conn.execute(_ROLES["eraser"])
                done = await _write_receipt(conn, named, "user", counts, at)
        await self._indexes.drop_any(scope)  # one that was being made meanwhile
        return done

    @asynccontextmanager
    async def _erase_transaction(self, scope: Scope) -> AsyncIterator[tuple[Connection, dict[str, Any]]]:
        """One transaction in one space that nobody else is in, in the role that may remove."""
        async with self._connections.writing(scope) as conn:
            await conn.execute(_ROLES["eraser"])
            named: dict[str, Any] = {"space": scope.space, **LISTS}
            row = await (await conn.execute(_ERASING["lock"], named)).fetchone()
            yield conn, named | {"rev": row["rev"] if row else None}


async def _delete_memories(
    conn: Connection, named: dict[str, Any], found: dict[MemoryId, int], line: dict[str, Any]
) -> dict[str, int]:
    """Memories with all that is about them; the journal keeps its lines, and gets a last one for each."""
    asked = named | line | {"ids": list(found), "revs": list(found.values()), "count": len(found)}
    await conn.execute(_ERASING["bump"], asked)
    counts = {}
    for table in _OF_MEMORIES:
        counts[table] = (await conn.execute(_ERASING[table], asked)).rowcount
    for block in ("empty_postings", "heirs", "former_heirs", "last_lines"):
        await conn.execute(_ERASING[block], asked)
    return counts


async def _delete_traces(conn: Connection, named: dict[str, Any], traces: Traces, counts: dict[str, int]) -> None:
    """What else says it, and what hangs on the turns that do; counted."""
    asked = named | _build_trace_params(traces, list(dict.fromkeys(_list_ids((*traces.around, *traces.former)))))
    # The lists know the stripped memories by words that are gone: without them, these count as just changed.
    for table, block in (("postings", "postings"), *_OF_TRACES):
        counts[table] = counts.get(table, 0) + (await conn.execute(_ERASING[block], asked)).rowcount
    for block in ("unsupported", "formerly_unsupported", "fewer_signals", "forget_values", "recalled"):
        await conn.execute(_ERASING[block], asked)
    for block in ("around", "around_former") if traces.around else ():
        await conn.execute(_ERASING[block], asked)
    if asked["ids"]:
        await conn.execute(_ERASING["bump"], asked | {"count": len(asked["ids"])})
        await conn.execute(_ERASING["retold"], asked)
        await conn.execute(_ERASING["empty_postings"], asked)
    await conn.execute(_ROLES["app"])
    counts["jobs"] = (await conn.execute(_ERASING["jobs_of_turns"], asked)).rowcount
    await conn.execute(_ROLES["eraser"])


def _build_trace_params(traces: Traces, ids: list[MemoryId]) -> dict[str, Any]:
    return {
        "ids": ids,
        "turns": list(traces.turns),
        "keys": [str(turn) for turn in traces.turns],
        "prints": list(traces.shingle_hashes),
        "former_ids": _list_ids(traces.former),
        "former_revs": [one.since for one in traces.former],
        "around_ids": _list_ids(traces.around),
        "around_revs": [one.since for one in traces.around],
        "around_words": [rows.encode_sparse_vector(index_text(one.text)) for one in traces.around],
    }


def _list_ids(texts: Sequence[MemoryStatement]) -> list[MemoryId]:
    return [one.id for one in texts]


async def _write_receipt(
    conn: Connection,
    named: dict[str, Any],
    what: Literal["memory", "user", "purge"],
    counts: dict[str, int],
    at: datetime,
) -> ErasureReceipt:
    told = ErasureReceipt(
        id=uuid4(), what=what, at=at, counts={table: count for table, count in counts.items() if count}
    )
    row = {"id": told.id, "what": what, "counts": Jsonb(told.counts), "at": at}
    await conn.execute(_ERASING["receipt"], named | row)
    return told


def _build_line_params(node: Node, why: str, at: datetime, actor: str | None = None) -> dict[str, Any]:
    return {"node": node, "why": why, "at": at, "actor": actor}
