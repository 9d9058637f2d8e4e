"""The stores over which the contract runs. A store is added by its name in STORES and a fixture `NAME_store`, which
gives it open and empty, in a module of its own that is named in `pytest_plugins` of tests/conftest.py or imported here.

`clock` is the time of what a store does by itself, such as forgetting."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from muniment.plugin.ports import MemoryStore
from muniment.plugin.stores.local.store import LocalStore

STORES = ("local",)


@pytest_asyncio.fixture
async def local_store(tmp_path: Path) -> AsyncIterator[LocalStore]:
    store = LocalStore(tmp_path / "plugin.sqlite")
    yield store
    await store.close()


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> MemoryStore:
    """Each of the stores, open and empty."""
    opened: MemoryStore = request.getfixturevalue(f"{request.param}_store")
    return opened
