"""Opens the accounts of the proxy: to write them beside an open memory, and to read them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from muniment.memory.bootstrap.databases import make_connections
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.flows.proxy_accounts import ProxyAccounts
from muniment.memory.models.clock import SystemClock
from muniment.memory.ports.clock import Clock
from muniment.memory.stores.postgres.operation.proxy_accounts import PostgresProxyAccounts
from muniment.memory.stores.postgres.store import PostgresStore


@asynccontextmanager
async def run_proxy_accounts(memory: Memory) -> AsyncIterator[ProxyAccounts]:
    """Keep accounts over the connections of an open memory, which is closed after them. What is buffered is written
    every second and at the end."""
    store = memory.engine.store
    if not isinstance(store, PostgresStore):
        raise TypeError(type(store).__name__)
    accounts = ProxyAccounts(store=store.proxy_accounts, clock=memory.engine.clock)
    running = asyncio.create_task(accounts.run())
    try:
        yield accounts
    finally:
        accounts.stop()
        await asyncio.shield(running)


@asynccontextmanager
async def open_proxy_accounts(settings: Settings, clock: Clock | None = None) -> AsyncIterator[ProxyAccounts]:
    """Open the accounts of this database to read them, as the owner of its tables. No embedder is loaded. Raises
    StoreDown."""
    store = PostgresProxyAccounts(make_connections(settings, as_owner=True))
    try:
        await store.open()
        yield ProxyAccounts(store=store, clock=clock or SystemClock())
    finally:
        await store.close()
