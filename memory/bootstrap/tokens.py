"""Opens what decides about access, and what the key of the installation signs: tokens, shares and anchors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

from muniment.memory.bootstrap.databases import make_connections
from muniment.memory.config.settings import Settings
from muniment.memory.flows.reading.verification import AnchorFiles
from muniment.memory.flows.shares import Shares
from muniment.memory.flows.tokens import Tokens
from muniment.memory.models.clock import SystemClock
from muniment.memory.ports.clock import Clock
from muniment.memory.stores.postgres.operation.shares import PostgresShares
from muniment.memory.stores.postgres.operation.tokens import PostgresTokens
from muniment.memory.stores.token_key import KeyFile, load_token_key

_Store = TypeVar("_Store", PostgresTokens, PostgresShares)


@asynccontextmanager
async def open_tokens(
    settings: Settings, clock: Clock | None = None, *, as_owner: bool = False
) -> AsyncIterator[Tokens]:
    """Open the tokens of this installation: those of its database, under the key of its home. No embedder is loaded.

    To make, list and revoke tokens they are opened `as_owner` of the tables: the engine's login may only look one up.
    Raises BadConfig for a key that others may read, StoreDown."""
    key = await asyncio.to_thread(load_token_key, settings.home)
    async with _open_store(PostgresTokens(make_connections(settings, as_owner=as_owner))) as store:
        yield Tokens(store=store, clock=clock or SystemClock(), key=key)


@asynccontextmanager
async def open_shares(settings: Settings, clock: Clock | None = None) -> AsyncIterator[Shares]:
    """Open the shares of this database, as the owner of its tables. No embedder is loaded. Raises StoreDown."""
    async with _open_store(PostgresShares(make_connections(settings, as_owner=True))) as store:
        yield Shares(store=store, clock=clock or SystemClock())


def make_anchor_files(settings: Settings) -> AnchorFiles:
    """Return what checks files of anchors by the key of this installation. It opens no database."""
    return AnchorFiles(installation_key=KeyFile(settings.home))


@asynccontextmanager
async def _open_store(store: _Store) -> AsyncIterator[_Store]:
    try:
        await store.open()
        yield store
    finally:
        await store.close()
