"""The days of tokens in Postgres: the application writes those of the tenant that it enters, the issuer reads all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from uuid import UUID

from muniment.memory.domain.scope import Scope
from muniment.memory.domain.tokens.usage import ProxyDay
from muniment.memory.ports.operation.proxy_accounts import ProxyAccountStore
from muniment.memory.stores.postgres.connection.pool import PostgresConnections
from muniment.memory.stores.postgres.sql import load_blocks

_ACCOUNTS, _ROLES, _WRITE = load_blocks("proxy_accounts"), load_blocks("roles"), load_blocks("write")


class PostgresProxyAccounts(ProxyAccountStore):
    """The `ProxyAccountStore` port over Postgres."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections

    async def open(self) -> None:
        """Connect, whatever the embedder of the database. Raises StoreDown."""
        await self._connections.open(any_model=True)

    async def close(self) -> None:
        """Close the connections."""
        await self._connections.close()

    async def add_days(self, days: Mapping[Scope, Sequence[ProxyDay]]) -> None:
        async with self._connections.statement(once=False) as conn:
            # In one order, or two processes would wait for each other.
            for space, of_tenant in sorted((scope.tenant_space, each) for scope, each in days.items()):
                await conn.execute(_WRITE["enter"], {"space": space})
                for day in sorted(of_tenant, key=lambda one: (one.token_id, one.day)):
                    await conn.execute(_ACCOUNTS["add"], asdict(day) | {"space": space})

    async def list_days(self, token_id: UUID | None, since: date) -> Sequence[ProxyDay]:
        async with self._connections.transaction() as conn:
            await conn.execute(_ROLES["issuer"])
            cursor = await conn.execute(_ACCOUNTS["days"], {"token": token_id, "since": since})
            return [ProxyDay(**row) for row in await cursor.fetchall()]
