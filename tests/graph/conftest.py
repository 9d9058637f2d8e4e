"""A graph over a database of the test's own, with an embedder that needs no model and a clock that stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph

from muniment.graph.supervisor import build
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.ports.llm import ChatModel
from muniment.nodes.state import Input, State, Who
from muniment.testing.fakes import FixedClock

STORY = "Hi, call me Ana. I am lactose intolerant and I'm training for the Lisbon marathon in October."


@dataclass
class Talk:
    """A compiled graph and its ways of speaking."""

    memory: Memory
    settings: Settings
    graph: CompiledStateGraph[State, Who, Input, Any]

    def __post_init__(self) -> None:
        self.graph.output_channels = self.graph.stream_channels or ()  # a run returns the whole state

    async def say(self, text: str, *, thread: str = "a", user: str = "ana", **config: Any) -> dict[str, Any]:
        """One turn; the state after it."""
        return await self.graph.ainvoke(
            Input(messages=[HumanMessage(text)]), self.config(thread, **config), context=Who(user=user)
        )

    def config(self, thread: str, **more: Any) -> Any:
        return {"configurable": {"thread_id": thread, **more}}


def last(state: dict[str, Any]) -> str:
    """The reply."""
    message = state["messages"][-1]
    assert isinstance(message, AIMessage)
    return str(message.text)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(datetime(2026, 5, 4, 9, 0, tzinfo=UTC))


@pytest.fixture
def settings(database_url: str) -> Settings:
    return load_settings({"MUNIMENT_DATABASE_URL": database_url, "MUNIMENT_EMBEDDER": "hash-256"})


@pytest.fixture
async def memory(settings: Settings, clock: FixedClock) -> AsyncIterator[Memory]:
    async with bootstrap.create_memory(settings, embedder=HashEmbedder(), clock=clock) as opened:
        yield opened


@pytest.fixture
def talk(memory: Memory, settings: Settings) -> Callable[..., Talk]:
    """Compile the graph with this model, or none."""

    def compiled(model: ChatModel | None = None, saver: BaseCheckpointSaver[Any] | None = None) -> Talk:
        graph = build(memory, model, settings).compile(checkpointer=saver or InMemorySaver())
        return Talk(memory, settings, graph)

    return compiled
