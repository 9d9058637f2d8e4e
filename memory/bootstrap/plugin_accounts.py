"""Makes the accounts of the plugin: over the connections of an open memory, or over its own to read them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from muniment.memory.bootstrap.databases import make_connections
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.flows.plugin_accounts import PluginAccounts
from muniment.memory.models.clock import SystemClock
from muniment.memory.stores.postgres.operation.plugin_accounts import PostgresPluginAccounts
from muniment.memory.stores.postgres.store import PostgresStore

__all__ = ["PluginAccounts", "make_plugin_accounts", "open_plugin_accounts"]


def make_plugin_accounts(memory: Memory) -> PluginAccounts:
    """Return the accounts over the connections of a memory, which has to be open while they are used."""
    store = memory.engine.store
    if not isinstance(store, PostgresStore):
        raise TypeError(type(store).__name__)
    engine = memory.engine
    return PluginAccounts(store=store.plugin_accounts, clock=engine.clock, retention=engine.retention.events)


@asynccontextmanager
async def open_plugin_accounts(settings: Settings) -> AsyncIterator[PluginAccounts]:
    """Open the accounts of this database to read them. No embedder is loaded. Raises StoreDown."""
    store = PostgresPluginAccounts(make_connections(settings, as_owner=False))
    try:
        await store.open()
        yield PluginAccounts(
            store=store, clock=SystemClock(), retention=timedelta(days=settings.session_ledger.events_days)
        )
    finally:
        await store.close()
