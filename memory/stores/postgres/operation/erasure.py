"""Removal for good: erased memories are in no row of Postgres any more, and a receipt counts what was removed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Literal, LiteralString
from uuid import uuid4

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from muniment.memory.domain.erasure import ErasureReceipt, MemoryStatement, Traces
from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import Conflict, NotFound
from muniment.memory.ports.operation.erasure import ErasureStore
from muniment.memory.rules.retrieval.intents import index_text
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.schema.large_spaces import LISTS, SpaceIndexes
from muniment.memory.stores.postgres.sql import load_blocks

_ERASURE, _ROLES = load_blocks("erasure"), load_blocks("roles")
# In this order: the lists of a large space find a memory by its words, and what refers to a memory goes before it.
_OF_MEMORIES = (
    "postings", "relations", "pair_fingerprints", "consent_requests", "requests", "events", "projections",
    "observations", "host_items", "bisect_replies", "memory_versions", "memories", "journal",
)  # fmt: skip
# A table, for the receipt's count, and the block that removes the traces of a memory from it.
_OF_TRACES = (
    ("postings", "postings"), ("memory_versions", "former_versions"), ("turns", "turns"), ("sessions", "sessions"),
    ("extractions", "extractions"), ("consent_requests", "unsupported_requests"),
    ("observations", "observations_of_turns"),
)  # fmt: skip
_VERSIONED = ("memories", "memory_versions")
_OF_SPACE = (
    "reseals", "seals", "relations", "memory_versions", "memories", "journal", "thread_revision", "turns",
    "observations", "sessions",
    "extractions", "events", "consent_requests", "postings", "swept", "consolidation_runs", "pair_fingerprints",
    "requests", "items", "host_items", "projections", "plugin_turns", "plugin_switches", "plugin_audit",
    "bisect_replies", "spaces",
)  # fmt: skip


class PostgresErasure(ErasureStore):
    """The `ErasureStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections, indexes: SpaceIndexes) -> None:
        self._connections = connections
        self._indexes = indexes

    async def list_memory_texts(
        self, scope: Scope, after: tuple[MemoryId, Revision], limit: int
    ) -> list[MemoryStatement]:
        params = {"space": scope.space, "after": after[0], "since": after[1], "limit": limit}
        async with self._connections.reading(scope) as conn:
            page = await (await conn.execute(_ERASURE["statements"], params)).fetchall()
        return [
            MemoryStatement(
                **row | {"aliases": tuple(row["aliases"])} | {name: tuple(row[name]) for name in ("turns", "tags")}
            )
            for row in page
        ]

    async def list_turns(self, scope: Scope, after: TurnId, limit: int) -> list[Turn]:
        params = {"space": scope.space, "after": after, "limit": limit}
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_ERASURE["ledger_page"], params)
            return [rows.parse_turn(row) for row in await cursor.fetchall()]

    async def find_threads(
        self, scope: Scope, ids: Sequence[MemoryId] | None = None, turns: Sequence[TurnId] = ()
    ) -> frozenset[str]:
        params = {"space": scope.space, "ids": None if ids is None else list(ids), "turns": list(turns)}
        async with self._connections.reading(scope) as conn:
            threads = await (await conn.execute(_ERASURE["threads"], params)).fetchall()
        return frozenset(row["thread_id"] for row in threads if row["thread_id"] is not None)

    async def purge_memories(
        self, scope: Scope, ids: Sequence[MemoryId], at: datetime, *, is_early: bool = False
    ) -> ErasureReceipt:
        async with self._erasing(scope) as (conn, space):
            cursor = await conn.execute(_ERASURE["due"], space | {"ids": list(ids), "at": at, "early": is_early})
            due = await cursor.fetchall()
            if due:
                line = {"node": "worker", "why": "purge", "at": at, "actor": None}
                sealed = await _open_reseals(conn, space, due, Traces(rev=space["rev"]))
                counts = await _delete_memories(conn, space | line, due)
                await conn.execute(_ERASURE["fill_reseals"], space | sealed)
                await _write_last_lines(conn, space | line, due)
                await conn.execute(_ERASURE["seal"], space | {"since": space["rev"]})
                return await _write_receipt(conn, space, "purge", counts, at)
        return ErasureReceipt(id=uuid4(), what="purge", at=at)

    async def erase_memory(self, scope: Scope, memory_id: MemoryId, traces: Traces, at: datetime) -> ErasureReceipt:
        async with self._erasing(scope) as (conn, space):
            if space["rev"] != traces.rev:
                raise Conflict
            ids = [memory_id, *_list_ids(traces.built_on)]
            cursor = await conn.execute(_ERASURE["existing"], space | {"ids": ids})
            existing = await cursor.fetchall()
            if not any(row["memory_id"] == memory_id for row in existing):
                raise NotFound(f"no memory {memory_id} in the space of {scope.owner!r}", id=str(memory_id))
            params = space | _build_trace_params(traces, [row["memory_id"] for row in existing])
            values = require_row(await (await conn.execute(_ERASURE["request_values"], params)).fetchone())
            space |= {"node": "face", "why": "erase", "at": at, "actor": scope.actor}
            sealed = await _open_reseals(conn, space, existing, traces)
            counts = await _delete_memories(conn, space, existing)
            around = await _delete_traces(conn, space | values, traces, counts)
            await conn.execute(_ERASURE["fill_reseals"], space | sealed)
            await _write_last_lines(conn, space, existing)
            await _write_change_lines(conn, space | {"rev": space["rev"] + len(existing)}, around)
            await conn.execute(_ERASURE["seal"], space | {"since": space["rev"]})
            return await _write_receipt(conn, space, "memory", counts, at)

    async def erase_space(self, scope: Scope, at: datetime) -> ErasureReceipt:
        await self._indexes.drop_any(scope)
        async with self._connections.writing(scope) as conn:
            await conn.execute(_ROLES["eraser"])
            counts: dict[str, int] = {}
            if scope.owner_type == "user":  # before the space is locked: who writes for a token holds the token first
                user = {"tenant": scope.tenant, "owner": scope.owner}
                counts["tokens"] = require_row(await (await conn.execute(_ERASURE["tokens"], user)).fetchone())["count"]
            space = await _lock_space(conn, scope)
            # Another owner's space may be shared with a space in which nobody has written.
            counts["shares"] = (await conn.execute(_ERASURE["shares"], space)).rowcount
            # A space that does not exist has no rows; one that is founded at this moment comes after the erasure.
            for table in _OF_SPACE if space["rev"] is not None else ():
                counts[table] = (await conn.execute(_format_block("all_rows", table), space)).rowcount
            await conn.execute(_ROLES["app"])
            counts["jobs"] = (await conn.execute(_ERASURE["jobs"], space)).rowcount
            receipt = ErasureReceipt(id=uuid4(), what="user", at=at)
            if any(counts.values()):
                await conn.execute(_ROLES["eraser"])
                receipt = await _write_receipt(conn, space, "user", counts, at)
        await self._indexes.drop_any(scope)  # an index whose build was under way
        return receipt

    @asynccontextmanager
    async def _erasing(self, scope: Scope) -> AsyncIterator[tuple[Connection, dict[str, Any]]]:
        """One transaction alone in one space, in the role that may remove; with the space's parameters."""
        async with self._connections.writing(scope) as conn:
            await conn.execute(_ROLES["eraser"])
            yield conn, await _lock_space(conn, scope)


async def _lock_space(conn: Connection, scope: Scope) -> dict[str, Any]:
    """Lock every writer out of a space, and return its parameters; `rev` is None where it does not exist."""
    space: dict[str, Any] = {"space": scope.space, **LISTS}
    row = await (await conn.execute(_ERASURE["lock"], space)).fetchone()
    return space | {"rev": row["rev"] if row else None}


async def _open_reseals(
    conn: Connection, space: dict[str, Any], removed: Sequence[DictRow], traces: Traces
) -> dict[str, list[Any]]:
    """Take the salts of all lines whose content will be removed or changed; returns these lines, each with its memory.
    What is left of them is sealed after the last change."""
    stripped = [statement.id for statement in traces.around if not statement.since]
    former = [statement for statement in (*traces.former, *traces.around) if statement.since]
    params = {"ids": [row["memory_id"] for row in removed], "stripped": stripped, "turns": list(traces.turns)}
    found = require_row(await (await conn.execute(_ERASURE["sealed_rows"], space | params)).fetchone())
    sealed = {
        "ids": found["ids"] + _list_ids(former),
        "revs": found["revs"] + [statement.since for statement in former],
    }
    await conn.execute(_ERASURE["open_reseals"], space | sealed)
    return sealed


async def _delete_memories(conn: Connection, space: dict[str, Any], memories: Sequence[DictRow]) -> dict[str, int]:
    """Delete memories and what refers to them; the journal keeps its lines. The revision is that of their last ones."""
    params = space | {"ids": [row["memory_id"] for row in memories], "count": len(memories)}
    await conn.execute(_ERASURE["bump"], params)
    counts = {}
    for table in _OF_MEMORIES:
        block = _ERASURE.get(table) or _format_block("rows_of_memories", table)
        counts[table] = (await conn.execute(block, params)).rowcount
    for table in (*_VERSIONED, "projections"):
        await conn.execute(_format_block("forget_heirs", table), params)
    await conn.execute(_ERASURE["empty_postings"], params)
    return counts


async def _write_last_lines(conn: Connection, space: dict[str, Any], memories: Sequence[DictRow]) -> None:
    """Add the last line of each removed memory to the journal."""
    columns = {"ids": "memory_id", "revs": "rev", "categories": "category"}
    lists = {name: [row[column] for row in memories] for name, column in columns.items()}
    await conn.execute(_ERASURE["last_lines"], space | lists)


async def _write_change_lines(conn: Connection, space: dict[str, Any], memories: Sequence[DictRow]) -> None:
    """Add a line to the journal for each memory that lost what was beside its text."""
    columns = {"ids": "memory_id", "categories": "category"}
    lists = {name: [row[column] for row in memories] for name, column in columns.items()}
    await conn.execute(_ERASURE["change_lines"], space | lists)


async def _delete_traces(
    conn: Connection, space: dict[str, Any], traces: Traces, counts: dict[str, int]
) -> Sequence[DictRow]:
    """Delete what else says the same, and what refers to its turns; adds to the counts. Returns the memories that lost
    something; the revision is that of their lines."""
    params = space | _build_trace_params(traces, list(dict.fromkeys(_list_ids((*traces.around, *traces.former)))))
    # The lists have memories by words of a context that goes: without them, these count as just changed.
    for table, block in _OF_TRACES:
        counts[table] = counts.get(table, 0) + (await conn.execute(_ERASURE[block], params)).rowcount
    for table in (*_VERSIONED, "consent_requests"):
        await conn.execute(_format_block("drop_support", table), params)
    for block in ("forget_values", "recalled_prints"):
        await conn.execute(_ERASURE[block], params)
    for block in ("strip", "strip_former") if traces.around else ():
        await conn.execute(_ERASURE[block], params)
    around: Sequence[DictRow] = ()
    if params["ids"]:
        around = await (await conn.execute(_ERASURE["existing"], params)).fetchall()
        await conn.execute(_ERASURE["bump"], params | {"count": len(around)})
        await conn.execute(_ERASURE["empty_postings"], params)
    await conn.execute(_ROLES["app"])
    counts["jobs"] = (await conn.execute(_ERASURE["jobs_of_turns"], params)).rowcount
    await conn.execute(_ROLES["eraser"])
    return around


def _format_block(block: str, table: LiteralString) -> LiteralString:
    return _ERASURE[block].replace("{table}", table)


def _build_trace_params(traces: Traces, ids: list[MemoryId]) -> dict[str, Any]:
    return {
        "ids": ids,
        "turns": list(traces.turns),
        "observations": list(traces.observations),
        "sessions": list(traces.sessions),
        "keys": [str(turn) for turn in traces.turns],
        "prints": list(traces.shingle_hashes),
        "former_ids": _list_ids(traces.former),
        "former_revs": [statement.since for statement in traces.former],
        "around_ids": _list_ids(traces.around),
        "around_revs": [statement.since for statement in traces.around],
        "around_contexts": [statement.context for statement in traces.around],
        "around_tags": [Jsonb(statement.tags) for statement in traces.around],
        "around_sources": [statement.source for statement in traces.around],
        "around_words": [
            rows.encode_sparse_vector(index_text(statement.text, statement.context, statement.aliases))
            for statement in traces.around
        ],
    }


def _list_ids(statements: Sequence[MemoryStatement]) -> list[MemoryId]:
    return [statement.id for statement in statements]


async def _write_receipt(
    conn: Connection,
    space: dict[str, Any],
    what: Literal["memory", "user", "purge"],
    counts: dict[str, int],
    at: datetime,
) -> ErasureReceipt:
    removed = {table: count for table, count in counts.items() if count}
    receipt = ErasureReceipt(id=uuid4(), what=what, at=at, counts=removed)
    row = {"id": receipt.id, "what": what, "counts": Jsonb(removed), "at": at}
    await conn.execute(_ERASURE["receipt"], space | row)
    return receipt
