"""The sealed journal as Postgres has it: rows in its binary format, read through a cursor of the server."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from psycopg import AsyncCursor
from psycopg.rows import tuple_row
from psycopg.types.string import ByteaBinaryLoader

from muniment.memory.domain.evidence.seals import Chain, ChainHead, ChainRow, HeldRow, Reseal
from muniment.memory.domain.ids import Revision, SpaceId
from muniment.memory.domain.scope import Scope
from muniment.memory.ports.seals import SealStore
from muniment.memory.stores.postgres import rows
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_SEALS, _READ, _ROLES = load_blocks("seals"), load_blocks("read"), load_blocks("roles")
# Bytes of a record: the number of its fields, then of each its type and its length. The first of a row is the memory's
# id.
_COUNT = 4
_FIELD_HEAD = _COUNT + 8
_ID_END = _FIELD_HEAD + 16
_LOWEST = -(2**63)  # there is no revision below 1, unless somebody has made one


class PostgresSeals(SealStore):
    """The `SealStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    @asynccontextmanager
    async def open_chain(
        self, scope: Scope, since: Revision
    ) -> AsyncIterator[tuple[Chain, AsyncIterator[Sequence[ChainRow]]] | None]:
        params = {"space": scope.space, "since": since, "first": since + 1 if since else _LOWEST}
        async with self._connections.reading(scope) as conn:
            head = await _read_head(conn, scope)
            if head is None:
                yield None
                return
            before = await (await conn.execute(_SEALS["before"], params)).fetchone() if since else None
            reseals: dict[int, list[Reseal]] = defaultdict(list)
            for row in await (await conn.execute(_SEALS["reseals"], params)).fetchall():
                reseals[row["rev"]].append(Reseal(**row))
            yield Chain(head=head, before=before["digest"] if before else None, reseals=reseals), _fetch(conn, params)

    async def read_head(self, scope: Scope) -> ChainHead | None:
        async with self._connections.reading(scope) as conn:
            return await _read_head(conn, scope)

    async def list_owners(self) -> Sequence[tuple[SpaceId, Scope]]:
        async with self._connections.transaction() as conn:
            await conn.execute(_ROLES["keeper"])
            found = await (await conn.execute(_SEALS["owners"])).fetchall()
        return [(row["space_id"], rows.parse_scope(row)) for row in found]

    async def find_erasure(self, space: SpaceId) -> tuple[bool, datetime | None]:
        async with self._connections.transaction() as conn:
            await conn.execute(_READ["enter"], {"space": space, "allowed": None})
            row = require_row(await (await conn.execute(_SEALS["erased"], {"space": space})).fetchone())
        return row["known"], row["at"]


async def _read_head(conn: Connection, scope: Scope) -> ChainHead | None:
    row = await (await conn.execute(_SEALS["head"], {"space": scope.space})).fetchone()
    return ChainHead(**row) if row else None


async def _fetch(conn: Connection, params: dict[str, Any]) -> AsyncIterator[Sequence[ChainRow]]:
    """Yield the rows in pages. While one is looked at the server makes the next."""
    await conn.execute(_SEALS["declare"], params)
    cursor = conn.cursor(row_factory=tuple_row)
    cursor.adapters.register_loader("jsonb", ByteaBinaryLoader)  # leaves a value as it was sent
    cursor.adapters.register_loader("uuid", ByteaBinaryLoader)
    fetching = asyncio.create_task(_fetch_page(cursor))
    try:
        while fetched := await fetching:
            fetching = asyncio.create_task(_fetch_page(cursor))
            await asyncio.sleep(0)  # it asks the server
            yield [_parse_row(row) for row in fetched]
    finally:
        fetching.cancel()
        await asyncio.wait({fetching})


async def _fetch_page(cursor: AsyncCursor[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    await cursor.execute(_SEALS["fetch"], binary=True)
    return await cursor.fetchall()


def _parse_row(row: tuple[Any, ...]) -> ChainRow:
    rev, digest, content, salt, meta, until, memory_id, leaves_memory, line, held = row
    return ChainRow(
        rev,
        None if line is None else line[_COUNT:],
        memory_id,
        leaves_memory,
        meta,
        digest,
        content,
        salt,
        None if held is None else HeldRow(held[_FIELD_HEAD:_ID_END], until, held[_ID_END:]),
    )
