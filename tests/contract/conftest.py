"""The store of the contract's tests."""

from collections.abc import AsyncIterator

import pytest

from muniment.memory.stores.postgres.store import PostgresStore


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[PostgresStore]:
    async def address() -> str:
        return database_url

    store = PostgresStore(address, model="hash-256")
    yield store
    await store.close()
