"""A memory over a database of the test's own, with a clock that stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.testing.fakes import FixedClock
from tests import engine


@pytest.fixture
def settings(database_url: str) -> Settings:
    return engine.settings(database_url).add_agents({"mybot": ["goals", "preferences"]})


@pytest.fixture
async def memory(settings: Settings) -> AsyncIterator[Memory]:
    made = bootstrap.create_memory(settings, embedder=HashEmbedder(), clock=FixedClock(engine.NOON))
    async with made as opened:
        yield opened
