"""The stores over which the contract runs. A store is added by its name in STORES and a fixture `NAME_store`, which
gives it open and empty, in a module of its own that is named in `pytest_plugins` of tests/conftest.py or imported here.

`clock` is the time of what a store does by itself, such as forgetting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio
from pydantic import SecretStr

from muniment.plugin.ports import MemoryStore
from muniment.plugin.stores.engine.store import EngineStore
from muniment.plugin.stores.hybrid.store import HybridStore
from muniment.plugin.stores.local.store import LocalStore
from muniment.plugin.stores.remote.store import RemoteStore
from muniment.testing.fakes import FixedClock
from tests.engine import engine as open_engine
from tests.http.conftest import make_environment, run_service
from tests.plugin_stores.items import START
from tests.plugin_sync.devices import Connection, open_device, open_server

STORES = ("local", "hybrid", "engine", "remote")


@pytest_asyncio.fixture
async def local_store(tmp_path: Path) -> AsyncIterator[LocalStore]:
    store = LocalStore(tmp_path / "plugin.sqlite")
    yield store
    await store.close()


@pytest_asyncio.fixture
async def engine_store(database_url: str) -> AsyncIterator[EngineStore]:
    async with open_engine(database_url, clock=FixedClock(START)) as memory:
        yield EngineStore(memory, memory.engine.settings.plugin)


@pytest_asyncio.fixture
async def remote_store(database_url: str, tmp_path: Path) -> AsyncIterator[RemoteStore]:
    """The store of a service of its own, whose clock is the machine's."""
    with run_service(make_environment(database_url, tmp_path / "home"), tmp_path / "log") as service:
        token = await asyncio.to_thread(service.token, owner=None, tenant="acme")
        store = RemoteStore(service.url, SecretStr(token), timeout_seconds=10)
        yield store
        await store.close()


@pytest_asyncio.fixture
async def hybrid_store(tmp_path: Path, database_url: str) -> AsyncIterator[HybridStore]:
    """The file first, and an engine of the test's own when it finds little."""
    async with open_server(database_url) as server:
        store = open_device(tmp_path / "hybrid.sqlite", Connection(server), clock=lambda: datetime.now(UTC))
        yield store
        await store.close()


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> MemoryStore:
    """Each of the stores, open and empty."""
    opened: MemoryStore = request.getfixturevalue(f"{request.param}_store")
    return opened
