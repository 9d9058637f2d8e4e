"""The reads of a space in Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from math import isnan
from typing import Any, LiteralString

from pgvector import HalfVector
from psycopg.rows import DictRow

from muniment.memory.domain.consolidation import MemoryGraph
from muniment.memory.domain.ids import MemoryId, Revision, is_missing
from muniment.memory.domain.journal import JournalEntry
from muniment.memory.domain.memory import Kind, Neighbour, StoredMemory
from muniment.memory.domain.query import ListRequest, MemoryPage
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.search import NeighbourProbe
from muniment.memory.rules.language import tokens
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import PostgresConnections, require_row
from muniment.memory.stores.postgres.search import PostgresSearches
from muniment.memory.stores.postgres.sql import load_blocks

_READ, _ROLES = load_blocks("read"), load_blocks("roles")
_LIST_FILTERS: tuple[LiteralString, ...] = (
    "categories", "kinds", "trusts", "pinned", "tag", "since", "until", "contains", "beginning",
)  # fmt: skip


class PostgresReads:
    """The `MemoryReads` port over Postgres. Snapshots are those of `PostgresSearches`."""

    def __init__(self, connections: PostgresConnections, searches: PostgresSearches) -> None:
        self._connections = connections
        self.read_snapshot = searches.read_snapshot

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
            return MemoryGraph(
                rev=Revision(require_row(await rev.fetchone())["rev"]),
                memories={row["memory_id"]: rows.parse_memory(row) for row in await members.fetchall()},
                edges={(row["from_id"], row["to_id"]): row["strength"] for row in await edges.fetchall()},
            )

    async def find_related(self, reader: Reader, memory_id: MemoryId, limit: int) -> list[Neighbour]:
        params = {"space": reader.scope.space, "memory_id": memory_id, "limit": limit}
        async with self._connections.reading(reader.scope, reader.allowed) as conn:
            related = await (await conn.execute(_READ["related"], params)).fetchall()
        return [Neighbour(memory=rows.parse_memory(row), sim=row["strength"]) for row in related]

    async def list_memories(self, reader: Reader, listing: ListRequest, *, as_of: Revision | None = None) -> MemoryPage:
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(listing).items()}
        params = values | {"space": reader.scope.space, "as_of": as_of}
        # A filter that is not set is not in the text.
        narrowed = "".join(f" {_READ[f'by_{name}']}" for name in _LIST_FILTERS if values[name] not in (None, []))
        then = "_then" if as_of is not None else ""
        async with self._connections.reading(reader.scope, reader.allowed) as conn:
            rev = await conn.execute(_READ["rev"], params)
            total = await conn.execute(_READ[f"total{then}"].replace("{narrowed}", narrowed), params)
            page = await conn.execute(_READ[f"list{then}"].replace("{narrowed}", narrowed), params)
            now = require_row(await rev.fetchone())["rev"]
            return MemoryPage(
                memories=tuple(map(rows.parse_memory, await page.fetchall())),
                total=require_row(await total.fetchone())["total"],
                rev=Revision(now if as_of is None else min(now, as_of)),
            )

    async def read_history(self, reader: Reader, memory_id: MemoryId | None, limit: int) -> list[JournalEntry]:
        params = {"space": reader.scope.space, "memory_id": memory_id, "limit": limit}
        async with self._connections.reading(reader.scope, reader.allowed) as conn:
            cursor = await conn.execute(_READ["history"], params)
            return [rows.parse_entry(row) for row in await cursor.fetchall()]

    async def find_neighbours(
        self, scope: Scope, probes: Sequence[NeighbourProbe], limit: int
    ) -> tuple[Revision, list[tuple[Neighbour, ...]]]:
        has_vectors = bool(probes) and not any(is_missing(probe.vector) for probe in probes)
        params = {
            "space": scope.space,
            "kinds": [probe.kind for probe in probes],
            "keys": [probe.stable_key for probe in probes],
            "attributes": [probe.attribute for probe in probes],
            "vectors": [HalfVector(probe.vector) for probe in probes] if has_vectors else None,
            "model": self._connections.model,
            "limit": limit if has_vectors else 0,  # of what is near by vector
        }
        async with self._connections.statement() as conn:
            cursor = await conn.execute(_READ["near"], params, prepare=True)
        head, *neighbours = await cursor.fetchall()
        return Revision(head["now"]), list(map(_parse_neighbours, _group_by_probe(neighbours, len(probes))))

    async def find_neighbours_by_words(
        self, scope: Scope, probes: Sequence[tuple[Kind, str]], limit: int
    ) -> list[tuple[Neighbour, ...]]:
        params = {
            "space": scope.space,
            "kinds": [kind for kind, _ in probes],
            "words": [rows.encode_sparse_vector(tokens.compute_weights(text)).to_text() for _, text in probes],
            "limit": limit,
        }
        async with self._connections.reading(scope) as conn:
            neighbours = await (await conn.execute(_READ["near_in_words"], params)).fetchall()
        return [
            tuple(Neighbour(memory=rows.parse_memory(row), sim=0.0) for row in group)
            for group in _group_by_probe(neighbours, len(probes))
        ]

    async def find_revision_at(self, scope: Scope, moment: datetime) -> Revision:
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_READ["revision_at"], {"space": scope.space, "moment": moment})
            return Revision(require_row(await cursor.fetchone())["rev"])

    async def find_given_up_texts(self, scope: Scope, texts: Sequence[str], before: Revision) -> frozenset[str]:
        params = {"space": scope.space, "texts": list(texts), "before": before}
        async with self._connections.reading(scope) as conn:
            cursor = await conn.execute(_READ["given_up_texts"], params)
            return frozenset(row["text"] for row in await cursor.fetchall())

    async def read_status(self, scope: Scope) -> dict[str, Any]:
        space = {"space": scope.space}
        async with self._connections.reading(scope) as conn:
            rev = require_row(await (await conn.execute(_READ["rev"], space)).fetchone())
            counts = require_row(await (await conn.execute(_READ["counts"], space)).fetchone())
            maintenance = await (await conn.execute(_READ["maintenance"], space)).fetchone() or {}
            version = conn.info.server_version
        server = {"postgres": f"{version // 10000}.{version % 10000}", "embedder": self._connections.model}
        return rev | counts | maintenance | server

    async def list_spaces(self) -> AsyncIterator[Scope]:
        async with self._connections.transaction() as conn:
            await conn.execute(_ROLES["keeper"])
            spaces = await (await conn.execute(_READ["spaces"])).fetchall()
        for row in spaces:
            yield rows.parse_scope(row)


def _group_by_probe(neighbours: Sequence[DictRow], probes: int) -> list[list[DictRow]]:
    groups: list[list[DictRow]] = [[] for _ in range(probes)]
    for row in neighbours:
        groups[row["n"] - 1].append(row)
    return groups


def _parse_neighbours(neighbours: Iterable[DictRow]) -> tuple[Neighbour, ...]:
    by_id = {row["memory_id"]: row for row in neighbours}
    # The cosine of a vector without a direction is no number: such a one is near nothing.
    sims = {row["memory_id"]: row["sim"] for row in neighbours if row["sim"] is not None and not isnan(row["sim"])}
    sims |= {row["memory_id"]: 1.0 for row in neighbours if row["same_key"]}
    parsed = [Neighbour(memory=rows.parse_memory(row), sim=sims.get(id_, 0.0)) for id_, row in by_id.items()]
    return tuple(sorted(parsed, key=lambda neighbour: -neighbour.sim))
