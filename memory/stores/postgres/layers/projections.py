"""Projections in Postgres: lists, and making those of a space anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, LiteralString
from uuid import UUID

from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.layers.projections import Projection, ProjectionRequest, RebuildResult, matches_request
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.errors import NotFound
from muniment.memory.ports.layers.projections import ProjectionStore
from muniment.memory.rules.projections.types import project_memory
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_BLOCKS = load_blocks("projections")
_FILTERS: tuple[LiteralString, ...] = ("types", "statuses", "key", "memories", "beginning")
_PAGE = 500  # memories that are projected at once
_NIL = UUID(int=0)


class PostgresProjections(ProjectionStore):
    """The `ProjectionStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def list_projections(self, reader: Reader, request: ProjectionRequest) -> list[Projection]:
        lasting = await self._rank_lasting(reader)
        if lasting is not None:
            visible = [one for one in lasting if one.category in reader.allowed and matches_request(one, request)]
            return visible[request.offset : request.offset + request.limit]
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(request).items()}
        narrowed = "".join(f" {_BLOCKS[f'by_{name}']}" for name in _FILTERS if values[name] not in (None, []))
        params = values | {"space": reader.scope.space}
        async with self._connections.reading(reader.scope, reader.allowed) as conn:
            cursor = await conn.execute(_BLOCKS["list"].replace("{narrowed}", narrowed), params)
            return [rows.parse_projection(row) for row in await cursor.fetchall()]

    async def rank_memories(self, memories: Sequence[StoredMemory]) -> list[Projection]:
        return await self._rank_rows(rows.encode_rows([slot for memory in memories for slot in project_memory(memory)]))

    async def _rank_rows(self, given: str) -> list[Projection]:
        async with self._connections.statement() as conn:
            cursor = await conn.execute(_BLOCKS["rank"], {"rows": given})
            return [rows.parse_projection(row) for row in await cursor.fetchall()]

    async def _rank_lasting(self, reader: Reader) -> list[Projection] | None:
        """Return all projections of the space as they are without what has expired; None where nothing has.

        Whoever sees some categories alone sees the ranks of all."""
        params = {"space": reader.scope.space, "at": reader.at}
        async with self._connections.reading(reader.scope) as conn:
            if not require_row(await (await conn.execute(_BLOCKS["has_ended"], params)).fetchone())["found"]:
                return None
            lasting = require_row(await (await conn.execute(_BLOCKS["lasting"], params)).fetchone())
        return await self._rank_rows(lasting["given"])

    async def find_lag(self, scope: Scope) -> int:
        async with self._connections.reading(scope) as conn:
            row = await (await conn.execute(_BLOCKS["lag"], {"space": scope.space})).fetchone()
        return int(row["lag"]) if row else 0

    async def rebuild(self, scope: Scope) -> RebuildResult:
        space = {"space": scope.space}
        async with self._connections.writing(scope) as conn:
            locked = await (await conn.execute(_BLOCKS["lock"], space)).fetchone()
            if locked is None:
                raise NotFound(f"{scope.owner!r} has no memories yet")
            before = await _read_digests(conn, scope)
            await project_space(conn, scope)
            after = await _read_digests(conn, scope)
        changed = sum(before.get(id_) != after.get(id_) for id_ in before.keys() | after.keys())
        return RebuildResult(rev=Revision(locked["rev"]), before=len(before), after=len(after), changed=changed)


async def project_space(conn: Connection, scope: Scope) -> None:
    """Make all projections of a space anew, in a transaction that has locked it."""
    params: dict[str, Any] = {"space": scope.space, "after": MemoryId(_NIL), "limit": _PAGE}
    await conn.execute(_BLOCKS["delete"], params)
    while True:
        cursor = await conn.execute(_BLOCKS["memories"], params)
        page = [rows.parse_memory(row) for row in await cursor.fetchall()]
        slots = [{"memory_id": memory.id, "slots": project_memory(memory)} for memory in page]
        await conn.execute(_BLOCKS["project"], params | {"memories": rows.encode_rows(slots)})
        if len(page) < _PAGE:
            break
        params["after"] = page[-1].id
    await conn.execute(_BLOCKS["note"], params)


async def _read_digests(conn: Connection, scope: Scope) -> Mapping[UUID, str]:
    cursor = await conn.execute(_BLOCKS["digests"], {"space": scope.space})
    return {row["projection_id"]: row["digest"] for row in await cursor.fetchall()}
