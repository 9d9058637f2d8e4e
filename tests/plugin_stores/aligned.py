"""The stores with a clock that a test moves, and by words alone: what they answer then, a dictionary answers, too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import uvicorn

from muniment.faces.http.app import create_app
from muniment.faces.http.server import create_service
from muniment.faces.mcp.endpoint import McpEndpoint
from muniment.memory.bootstrap import open_tokens
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.plugin.domain.item import (
    CompactPolicy,
    CompactReport,
    ItemOwner,
    ListQuery,
    MemoryHit,
    MemoryItem,
    SearchQuery,
    StoredItem,
)
from muniment.plugin.ports import MemoryStore
from muniment.plugin.stores.engine.store import PROFILE, EngineStore
from muniment.plugin.stores.local.store import LocalStore
from muniment.plugin.stores.remote.store import RemoteStore
from muniment.testing.fakes import FixedClock
from tests.engine import engine as open_engine, settings
from tests.plugin_stores.items import START
from tests.plugin_stores.oracle import ENGINE, FILE, Differences
from tests.plugin_sync.devices import Connection, open_device, open_server

TENANTS = ("acme", "other")


@dataclass(frozen=True, kw_only=True)
class AlignedStore:
    """A store, in what it differs from a file, and its clock."""

    store: MemoryStore
    differences: Differences = FILE
    clock: FixedClock = field(default_factory=lambda: FixedClock(START))

    def set_days(self, days: float) -> None:
        """Let it be so many days after the start."""
        self.clock.advance((START + timedelta(days=days) - self.clock.now()).total_seconds())


@asynccontextmanager
async def open_aligned(name: str, folder: Path, find_database: Callable[[], str]) -> AsyncIterator[AlignedStore]:
    """Open a store by its name; it is closed at the end. What needs a database finds its address."""
    async with AsyncExitStack() as stack:
        clock = FixedClock(START)
        if name == "local":
            store: MemoryStore = LocalStore(folder / "plugin.sqlite", now=clock.now)
            differences = FILE
        elif name == "hybrid":
            server = await stack.enter_async_context(open_server(find_database()))
            store, differences = open_device(folder / "hybrid.sqlite", Connection(server), clock=clock.now), FILE
        else:
            url = find_database()
            tuned = _tune(settings(url))
            memory = await stack.enter_async_context(open_engine(url, clock=clock, tuned=tuned))
            store, differences = EngineStore(memory, tuned.plugin), ENGINE
            if name == "remote":
                store = await stack.enter_async_context(_serve(memory, tuned))
        stack.push_async_callback(store.close)
        yield AlignedStore(store=store, differences=differences, clock=clock)


@dataclass(frozen=True)
class TenantStores(MemoryStore):
    """A store over HTTP for each tenant: a token is of one."""

    stores: dict[str, RemoteStore]

    async def search(self, query: SearchQuery) -> Sequence[MemoryHit]:
        return await self.stores[query.owner.tenant].search(query)

    async def upsert(self, items: Sequence[MemoryItem]) -> Sequence[StoredItem]:
        [tenant] = {item.tenant_id for item in items}
        return await self.stores[tenant].upsert(items)

    async def forget(self, owner: ItemOwner, ids: Sequence[str]) -> Sequence[str]:
        return await self.stores[owner.tenant].forget(owner, ids)

    async def compact(self, owner: ItemOwner, policy: CompactPolicy) -> CompactReport:
        return await self.stores[owner.tenant].compact(owner, policy)

    async def list(self, query: ListQuery) -> Sequence[MemoryItem]:
        return await self.stores[query.owner.tenant].list(query)

    async def pin(self, owner: ItemOwner, item_id: str, *, pinned: bool) -> bool:
        return await self.stores[owner.tenant].pin(owner, item_id, pinned=pinned)

    async def close(self) -> None:
        for store in self.stores.values():
            await store.close()


@asynccontextmanager
async def _serve(memory: Memory, tuned: Settings) -> AsyncIterator[TenantStores]:
    """Serve an engine over HTTP from this event loop, and give a store of each tenant."""
    async with open_tokens(tuned, as_owner=True) as tokens:
        service = create_service(tuned, memory, tokens)
        app = create_app(service, McpEndpoint(memory, tokens.key, service.ending))
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off", ws="none"))
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        stores = {}
        for tenant in TENANTS:
            token, _ = await tokens.issue_token(tenant=tenant, owner=None)
            stores[tenant] = RemoteStore(f"http://127.0.0.1:{port}", token, timeout_seconds=60)
        yield TenantStores(stores)
        server.should_exit = True
        await serving


def _tune(found: Settings) -> Settings:
    """Return settings by which an engine finds by words alone, and serves as many requests as come."""
    profiles = {**found.recall.profiles, PROFILE: {**found.recall.profiles[PROFILE], "semantic_weight": 0.0}}
    return found.model_copy(
        update={
            "recall": found.recall.model_copy(update={"profiles": profiles}),
            "serve": found.serve.model_copy(update={"requests_per_second": 1_000_000, "burst": 1_000_000}),
        }
    )
