"""Removal for good: what was in Postgres is in no row any more, and a receipt says how much it was."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Literal
from uuid import uuid4

from psycopg.types.json import Jsonb

from muniment.memory.records import MemoryId, Node, Scope
from muniment.memory.stores.pool import Connection, Sessions
from muniment.memory.stores.sql import blocks
from muniment.memory.upkeep import Erasure

_ERASING = blocks("erasing")
# In this order: the lists know a memory by its words, and what refers to it goes before it.
_OF_MEMORIES = (
    "postings", "relations", "pair_fingerprints", "consent_requests", "events", "memory_versions", "memories", "journal",
)  # fmt: skip


class Erasures(Sessions):
    """See `Erasing`."""

    async def purge(self, scope: Scope, ids: Sequence[MemoryId], at: datetime) -> Erasure:
        """See `Erasing.purge`."""
        counts: dict[str, int] = {}
        async with self._erasing(scope) as (conn, named):
            due = await conn.execute(_ERASING["due"], named | {"ids": list(ids), "at": at})
            found = {row["memory_id"]: row["rev"] for row in await due.fetchall()}
            if found:
                counts = await _remove(conn, named, found, _line("worker", "purge", at))
                return await _receipt(conn, named, "purge", counts, at)
        return Erasure(id=uuid4(), what="purge", at=at)

    @asynccontextmanager
    async def _erasing(self, scope: Scope) -> AsyncIterator[tuple[Connection, dict[str, Any]]]:
        """One transaction in one space that nobody else is in, in the role that may remove."""
        async with self._writing(scope) as conn:
            await conn.execute(_ERASING["eraser"])
            named: dict[str, Any] = {"space": scope.space}
            row = await (await conn.execute(_ERASING["lock"], named)).fetchone()
            yield conn, named | {"rev": row["rev"] if row else 0}


async def _remove(
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


async def _receipt(
    conn: Connection,
    named: dict[str, Any],
    what: Literal["memory", "user", "purge"],
    counts: dict[str, int],
    at: datetime,
) -> Erasure:
    told = Erasure(id=uuid4(), what=what, at=at, counts={table: count for table, count in counts.items() if count})
    row = {"id": told.id, "what": what, "counts": Jsonb(told.counts), "at": at}
    await conn.execute(_ERASING["receipt"], named | row)
    return told


def _line(node: Node, why: str, at: datetime, actor: str | None = None) -> dict[str, Any]:
    return {"node": node, "why": why, "at": at, "actor": actor}
