"""The sealed journal as Postgres has it: rows in its binary format, read through a cursor of the server."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from psycopg.rows import tuple_row
from psycopg.types.string import ByteaBinaryLoader

from muniment.memory.domain.evidence.seals import Chain, ChainHead, ChainRow, HeldRow, Reseal
from muniment.memory.domain.ids import Revision, SpaceId
from muniment.memory.domain.scope import Scope
from muniment.memory.ports.seals import SealStore
from muniment.memory.rules.seals.encoding import BYTES, CONTENT_FIELDS, JSON, LINE_FIELDS
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_SEALS, _READ = load_blocks("seals"), load_blocks("read")
_TYPES = {type_ for _, type_ in (*LINE_FIELDS, *CONTENT_FIELDS)} | {BYTES, JSON}
# Where the columns of a line and of a row begin; the first of a row is the memory's id.
_LINE, _HELD = 6, 6 + len(LINE_FIELDS)


class PostgresSeals(SealStore):
    """The `SealStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    @asynccontextmanager
    async def open_chain(
        self, scope: Scope, since: Revision
    ) -> AsyncIterator[tuple[Chain, AsyncIterator[Sequence[ChainRow]]] | None]:
        params = {"space": scope.space, "since": since}
        async with self._connections.reading(scope) as conn:
            head = await _read_head(conn, scope)
            if head is None:
                yield None
                return
            before = await (await conn.execute(_SEALS["before"], params)).fetchone()
            reseals: dict[int, list[Reseal]] = defaultdict(list)
            for row in await (await conn.execute(_SEALS["reseals"], params)).fetchall():
                reseals[row["rev"]].append(Reseal(**row))
            yield Chain(head=head, before=before["digest"] if before else None, reseals=reseals), _fetch(conn, params)

    async def read_head(self, scope: Scope) -> ChainHead | None:
        async with self._connections.reading(scope) as conn:
            return await _read_head(conn, scope)

    async def find_erasure(self, space: SpaceId) -> tuple[bool, datetime | None]:
        async with self._connections.transaction() as conn:
            await conn.execute(_READ["enter"], {"space": space, "allowed": None})
            row = require_row(await (await conn.execute(_SEALS["erased"], {"space": space})).fetchone())
        return row["known"], row["at"]


async def _read_head(conn: Connection, scope: Scope) -> ChainHead | None:
    row = await (await conn.execute(_SEALS["head"], {"space": scope.space})).fetchone()
    return ChainHead(**row) if row else None


async def _fetch(conn: Connection, params: dict[str, Any]) -> AsyncIterator[Sequence[ChainRow]]:
    await conn.execute(_SEALS["declare"], params)
    cursor = conn.cursor(row_factory=tuple_row)
    for type_ in _TYPES:
        cursor.adapters.register_loader(type_, ByteaBinaryLoader)  # leaves a value as it was sent
    while True:
        await cursor.execute(_SEALS["fetch"], binary=True)
        rows = await cursor.fetchall()
        if not rows:
            return
        yield [_parse_row(row) for row in rows]


def _parse_row(row: tuple[Any, ...]) -> ChainRow:
    rev, digest, content, salt, meta, until = row[:_LINE]
    line, held = row[_LINE:_HELD], row[_HELD:]
    return ChainRow(
        int.from_bytes(rev),
        None if line[0] is None else line,
        meta,
        digest,
        content,
        salt,
        None if held[0] is None else HeldRow(held[0], None if until is None else int.from_bytes(until), held[1:]),
    )
