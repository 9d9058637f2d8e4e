"""The grants of tokens in Postgres: the application finds one by its digest, and only the issuer sees the table."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from muniment.memory.domain.scope import Grant
from muniment.memory.ports.operation.tokens import TokenStore
from muniment.memory.stores.postgres.connection.pool import Connection, PostgresConnections, require_row
from muniment.memory.stores.postgres.sql import load_blocks

_TOKENS, _ROLES = load_blocks("tokens"), load_blocks("roles")
_COLUMNS = ("id", "tenant", "owner", "created_at", "expires_at")
_LISTS = ("agents", "projects", "scopes")


class PostgresTokens(TokenStore):
    """The `TokenStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self.connections = connections

    async def open(self) -> None:
        """Connect, whatever the embedder of the database. Raises StoreDown."""
        await self.connections.open(any_model=True)

    async def close(self) -> None:
        """Close the connections."""
        await self.connections.close()

    async def add_grant(self, grant: Grant, digest: bytes) -> None:
        async with self._issuing() as conn:
            await insert_grant(conn, grant, digest)

    async def find_grant(self, digest: bytes) -> Grant | None:
        async with self.connections.statement() as conn:
            row = await (await conn.execute(_TOKENS["find"], {"digest": digest})).fetchone()
        return parse_grant(row) if row else None

    async def is_valid(self, id_: UUID, at: datetime) -> bool:
        async with self.connections.statement() as conn:
            row = await (await conn.execute(_TOKENS["is_valid"], {"id": id_, "at": at})).fetchone()
        return bool(require_row(row)["yes"])

    async def list_grants(self, tenant: str | None) -> Sequence[Grant]:
        async with self._issuing() as conn:
            rows = await (await conn.execute(_TOKENS["grants"], {"tenant": tenant})).fetchall()
        return [parse_grant(row) for row in rows]

    async def revoke_grant(self, id_: UUID, at: datetime) -> Grant | None:
        async with self._issuing() as conn:
            return await revoke_grant(conn, id_, at)

    @asynccontextmanager
    async def _issuing(self) -> AsyncIterator[Connection]:
        async with self.connections.transaction() as conn:
            await conn.execute(_ROLES["issuer"])
            yield conn


async def insert_grant(conn: Connection, grant: Grant, digest: bytes) -> None:
    """Insert the grant of a token in the caller's transaction, which is the issuer's."""
    params = {name: getattr(grant, name) for name in _COLUMNS} | {"digest": digest}
    await conn.execute(_TOKENS["add"], params | {name: list(getattr(grant, name)) for name in _LISTS})


async def revoke_grant(conn: Connection, id_: UUID, at: datetime) -> Grant | None:
    """Revoke a token in the caller's transaction, which is the issuer's, and return its grant; None for an unknown
    id."""
    row = await (await conn.execute(_TOKENS["revoke"], {"id": id_, "at": at})).fetchone()
    return parse_grant(row) if row else None


def parse_grant(row: dict[str, Any]) -> Grant:
    """Return the grant in a row of its columns."""
    return Grant(**row | {name: tuple(row[name]) for name in _LISTS})
