"""What the pages of memories read in Postgres."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.memory.domain.console.memories import MemoryFacets, MemoryVersion, Recall
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.ports.console.memories import MemoryPageReads
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import PostgresConnections
from muniment.memory.stores.postgres.sql import load_blocks

_SQL = load_blocks("console_memories")


class PostgresMemoryPageReads(MemoryPageReads):
    """The `MemoryPageReads` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def list_versions(self, reader: Reader, memory_id: MemoryId, limit: int) -> Sequence[MemoryVersion]:
        params = {"space": reader.scope.space, "memory_id": memory_id, "limit": limit}
        async with self._connections.reading(reader.scope, reader.allowed) as conn:
            found = await (await conn.execute(_SQL["versions"], params)).fetchall()
        return [
            MemoryVersion(
                rev=row["change_rev"],
                at=row["change_ts"],
                action=row["change_action"],
                node=row["change_node"],
                actor=row["change_actor"],
                meta=row["change_meta"],
                memory=rows.parse_memory(row) if row["memory_id"] is not None else None,
            )
            for row in found
        ]

    async def list_recalls(self, scope: Scope, texts: Sequence[Sequence[int]], limit: int) -> Sequence[Recall]:
        # An empty text is in everything.
        prints = ["{" + ",".join(map(str, hashes)) + "}" for hashes in texts if hashes]
        if not prints:
            return ()
        params = {"space": scope.space, "prints": prints, "limit": limit}
        async with self._connections.reading(scope) as conn:  # who has an allowlist sees no turns
            found = await (await conn.execute(_SQL["recalls"], params)).fetchall()
        return [Recall(**row) for row in found]

    async def list_facets(self, reader: Reader, limit: int) -> MemoryFacets:
        params = {"space": reader.scope.space, "limit": limit}
        async with self._connections.reading(reader.scope, reader.allowed) as conn:
            found = await (await conn.execute(_SQL["facets"], params)).fetchall()
        return MemoryFacets(
            sources=tuple(row["value"] for row in found if row["facet"] == "source"),
            agents=tuple(row["value"] for row in found if row["facet"] == "agent"),
        )
