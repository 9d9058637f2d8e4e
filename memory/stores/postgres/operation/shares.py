"""The shares in Postgres: only the issuer sees and changes the table as a whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from muniment.memory.domain.ids import SpaceId
from muniment.memory.domain.scope import Scope, Share
from muniment.memory.ports.operation.shares import ShareStore
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_SHARES, _ROLES = load_blocks("shares"), load_blocks("roles")


class PostgresShares(ShareStore):
    """The `ShareStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def open(self) -> None:
        """Connect, whatever the embedder of the database. Raises StoreDown."""
        await self._connections.open(any_model=True)

    async def close(self) -> None:
        """Close the connections."""
        await self._connections.close()

    async def add_share(self, share: Share) -> Share:
        shared, reader = share.shared, share.reader
        key = {"space": shared.space, "reader_space": share.reader_space}
        params = key | {
            "tenant": shared.tenant,
            "owner_type": shared.owner_type,
            "owner": shared.owner,
            "reader_type": reader.owner_type if reader else None,
            "reader": reader.owner if reader else None,
            "granted_by": share.granted_by,
            "since": share.since,
        }
        async with self._issuing() as conn:
            await conn.execute(_SHARES["add"], params)
            return _parse_share(require_row(await (await conn.execute(_SHARES["get"], key)).fetchone()))

    async def list_shares(self, tenant: str | None) -> Sequence[Share]:
        async with self._issuing() as conn:
            rows = await (await conn.execute(_SHARES["list"], {"tenant": tenant})).fetchall()
        return [_parse_share(row) for row in rows]

    async def remove_share(self, shared: SpaceId, reader: SpaceId) -> Share | None:
        async with self._issuing() as conn:
            cursor = await conn.execute(_SHARES["remove"], {"space": shared, "reader_space": reader})
            row = await cursor.fetchone()
        return _parse_share(row) if row else None

    @asynccontextmanager
    async def _issuing(self) -> AsyncIterator[Connection]:
        async with self._connections.transaction() as conn:
            await conn.execute(_ROLES["issuer"])
            yield conn


def _parse_share(row: dict[str, Any]) -> Share:
    tenant, by, since = row["tenant_id"], row["granted_by"], row["since"]
    shared = Scope(tenant=tenant, owner=row["owner_id"], owner_type=row["owner_type"])
    reader = Scope(tenant=tenant, owner=row["reader"], owner_type=row["reader_type"]) if row["reader_type"] else None
    return Share(shared=shared, reader=reader, granted_by=by, since=since)
