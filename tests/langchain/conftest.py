"""A memory over a database of the test's own, with a clock that stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from muniment.langchain import MemoryMiddleware
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.testing.fakes import FixedClock
from muniment.testing.openai_server import ScriptedOpenAI
from tests import engine
from tests.langchain.chains import Recorder

PATIENCE_SECONDS = 30.0  # the usual two pass on a machine that has other work


def make_patient(memory: Memory, user: str | None = None) -> MemoryMiddleware:
    """A middleware that goes on without memory where memory does not answer, and not where it is slow."""
    return MemoryMiddleware(memory, user=user, recall_seconds=PATIENCE_SECONDS, record_seconds=PATIENCE_SECONDS)


@pytest.fixture
def settings(database_url: str) -> Settings:
    return engine.settings(database_url).add_agents({"mybot": ["goals", "preferences"]})


@pytest.fixture
async def memory(settings: Settings) -> AsyncIterator[Memory]:
    made = bootstrap.create_memory(settings, embedder=HashEmbedder(), clock=FixedClock(engine.NOON))
    async with made as opened:
        yield opened


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def start() -> Iterator[Callable[..., ScriptedOpenAI]]:
    servers: list[ScriptedOpenAI] = []

    def begin(*replies: Any) -> ScriptedOpenAI:
        servers.append(ScriptedOpenAI(list(replies) or "Fine.").__enter__())
        return servers[-1]

    yield begin
    for server in servers:
        server.__exit__(None, None, None)
