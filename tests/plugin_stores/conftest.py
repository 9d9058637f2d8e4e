"""The stores over which the contract runs. A store is added by its name in STORES and a fixture `NAME_store`, which
gives it open and empty, in a module of its own that is named in `pytest_plugins` of tests/conftest.py or imported here.

`clock` is the time of what a store does by itself, such as forgetting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio
from pydantic import SecretStr

from muniment.memory.domain.scope import Scope
from muniment.plugin.ports import MemoryStore
from muniment.plugin.stores.engine.store import EngineStore
from muniment.plugin.stores.hybrid.store import HybridStore
from muniment.plugin.stores.local.store import LocalStore
from muniment.plugin.stores.remote.store import RemoteStore
from muniment.testing.fakes import FixedClock
from tests.conftest import Clones
from tests.engine import engine as open_engine
from tests.http.conftest import Serving, make_environment, run_service
from tests.plugin_stores.items import ANA, START
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


@pytest.fixture(scope="session")
def store_service(clones: Clones, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A service of many tests, one after the other. Its clock is the machine's."""
    folder = tmp_path_factory.mktemp("stores")
    with contextmanager(clones.make)(template) as url, run_service(make_environment(url, folder), folder / "log") as it:
        yield it


@pytest_asyncio.fixture
async def remote_store(store_service: Serving) -> AsyncIterator[RemoteStore]:
    """The store of the service, from which the users of the test before are erased."""
    async with open_engine(store_service.environment["MUNIMENT_OWNER_URL"]) as memory:
        for user in ("ana", "ben"):
            await memory.admin.erase_space(Scope(tenant=ANA.tenant, owner=user))
    token = await asyncio.to_thread(store_service.token, owner=None, tenant=ANA.tenant)
    store = RemoteStore(store_service.url, SecretStr(token), timeout_seconds=10)
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
