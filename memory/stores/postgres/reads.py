"""The reads of a space in Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, LiteralString

from muniment.memory.domain.consolidation import MemoryGraph
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.journal import JournalEntry
from muniment.memory.domain.memory import Neighbour, StoredMemory
from muniment.memory.domain.query import ListRequest, MemoryPage
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.search import PackedMemories
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import PostgresConnections, require_row
from muniment.memory.stores.postgres.search import PostgresSearches, build_reader_params
from muniment.memory.stores.postgres.sql import load_blocks

_READ, _ROLES, _SWITCH = load_blocks("read"), load_blocks("roles"), load_blocks("embedder_switch")
_LIST_FILTERS: tuple[LiteralString, ...] = (
    "categories", "kinds", "fact_kinds", "trusts", "pinned", "tag", "since", "until", "contains", "beginning",
    "source", "session_id", "agent_id",
)  # fmt: skip


class PostgresReads:
    """The `MemoryReads` port over Postgres. What is near a question or a statement is found by `PostgresSearches`."""

    def __init__(self, connections: PostgresConnections, searches: PostgresSearches, model: str) -> None:
        self._connections, self._model = connections, model
        self.read_snapshot = searches.read_snapshot
        self.find_neighbours = searches.find_neighbours
        self.find_neighbours_by_words = searches.find_neighbours_by_words

    async def get_memory(
        self, reader: Reader, memory_id: MemoryId, *, as_of: Revision | None = None
    ) -> StoredMemory | None:
        params = {"space": reader.scope.space, "memory_id": memory_id, "as_of": as_of}
        async with self._connections.reading(reader.scope, reader.allowed) as conn:
            row = await (await conn.execute(_READ["get" if as_of is None else "get_then"], params)).fetchone()
        return rows.parse_memory(row) if row else None

    async def read_members(self, scope: Scope, ids: Sequence[MemoryId]) -> MemoryGraph:
        params = {"space": scope.space, "ids": list(ids)}
        async with self._connections.reading(scope) as conn:
            rev = await conn.execute(_READ["rev"], params)
            members = await conn.execute(_READ["members"], params)
            edges = await conn.execute(_READ["edges"], params)
            found = await members.fetchall()
            return MemoryGraph(
                rev=Revision(require_row(await rev.fetchone())["rev"]),
                memories={row["memory_id"]: rows.parse_memory(row) for row in found},
                edges={(row["from_id"], row["to_id"]): row["strength"] for row in await edges.fetchall()},
                said={row["memory_id"]: row["said"] for row in found if row["said"]},
            )

    async def read_packed(self, scope: Scope, limit: int) -> PackedMemories | None:
        params = {"space": scope.space, "model": self._model, "limit": limit + 1}
        async with self._connections.reading(scope) as conn:
            rev = await conn.execute(_READ["rev"], params)
            packed = await conn.execute(_READ["packed"], params, binary=True)
        found = require_row(await packed.fetchone())
        now = Revision(require_row(await rev.fetchone())["rev"])
        return rows.parse_packed(found, now) if found["memories"] <= limit else None

    async def find_related(self, reader: Reader, memory_id: MemoryId, limit: int) -> list[Neighbour]:
        params = build_reader_params(reader, None) | {"memory_id": memory_id, "limit": limit}
        async with self._connections.reading(reader.scope, reader.allowed) as conn:
            related = await (await conn.execute(_READ["related"], params)).fetchall()
        return [Neighbour(memory=rows.parse_memory(row), sim=row["strength"]) for row in related]

    async def list_memories(self, reader: Reader, listing: ListRequest, *, as_of: Revision | None = None) -> MemoryPage:
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(listing).items()}
        params = values | build_reader_params(reader, as_of)
        # A filter that is not set is not in the text.
        narrowed = "".join(f" {_READ[f'by_{name}']}" for name in _LIST_FILTERS if values[name] not in (None, []))
        then = "_then" if as_of is not None else ""
        narrowed += "" if listing.everywhere else f" {_READ[f'by_limits{then}']}"
        place = ""
        if listing.after is not None:
            params["after_rev"], params["after_id"] = listing.after
            place = f" {_READ['by_after']}"
        async with self._connections.reading(reader.scope, reader.allowed) as conn:
            rev = await conn.execute(_READ["rev"], params)
            page = await conn.execute(_READ[f"list{then}"].replace("{narrowed}", narrowed + place), params)
            now = require_row(await rev.fetchone())["rev"]
            memories = tuple(map(rows.parse_memory, await page.fetchall()))
            total = listing.offset + len(memories)
            # A page with room left is the last one, unless it begins behind the end; how many are before a place in the
            # list is known to nobody.
            is_last = listing.after is None and len(memories) < listing.limit and (memories or not listing.offset)
            if listing.counted and not is_last:
                counted = await conn.execute(_READ[f"total{then}"].replace("{narrowed}", narrowed), params)
                total = require_row(await counted.fetchone())["total"]
            return MemoryPage(memories=memories, total=total, rev=Revision(now if as_of is None else min(now, as_of)))

    async def read_history(self, reader: Reader, memory_id: MemoryId | None, limit: int) -> list[JournalEntry]:
        params = {"space": reader.scope.space, "memory_id": memory_id, "limit": limit}
        async with self._connections.reading(reader.scope, reader.allowed) as conn:
            cursor = await conn.execute(_READ["history"], params)
            return [rows.parse_entry(row) for row in await cursor.fetchall()]

    async def find_revision_at(self, scope: Scope, moment: datetime) -> Revision:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_READ["revision_at"], {"space": scope.space, "moment": moment})
            return Revision(require_row(await cursor.fetchone())["rev"])

    async def read_status(self, scope: Scope) -> dict[str, Any]:
        space = {"space": scope.space}
        async with self._connections.reading(scope) as conn:
            rev = require_row(await (await conn.execute(_READ["rev"], space)).fetchone())
            counts = require_row(await (await conn.execute(_READ["counts"], space)).fetchone())
            maintenance = await (await conn.execute(_READ["maintenance"], space)).fetchone() or {}
            version = conn.info.server_version
        async with self._connections.transaction() as conn:
            await conn.execute(_ROLES["keeper"])  # who sees what a tenant without a space has chosen
            params = {"only": scope.space, "tenant": scope.tenant}
            embedder = require_row(await (await conn.execute(_SWITCH["model_of_space"], params)).fetchone())["model"]
        server = {"postgres": f"{version // 10000}.{version % 10000}", "embedder": embedder}
        return rev | counts | maintenance | server

    async def list_spaces(self) -> AsyncIterator[Scope]:
        async with self._connections.transaction() as conn:
            await conn.execute(_ROLES["keeper"])
            spaces = await (await conn.execute(_READ["spaces"])).fetchall()
        for row in spaces:
            yield rows.parse_scope(row)
