"""The profile of a thread stands still before the model, so that a provider's cache keeps the prompt."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks import prompt_cache
from muniment.memory.client import Memory
from muniment.testing.fakes import FixedClock
from muniment.testing.openai_server import ScriptedOpenAI
from tests.engine import scope
from tests.langchain.conftest import make_patient


class Talk:
    """A thread of ana, and the prompts of its turns."""

    def __init__(self, memory: Memory, server: ScriptedOpenAI) -> None:
        self.middleware, self.server = make_patient(memory, "ana"), server
        model = ChatOpenAI(model="scripted", base_url=server.base_url, api_key=cast("Any", "none"), max_retries=0)
        self.agent: Any = create_agent(model, middleware=[self.middleware], checkpointer=InMemorySaver())

    async def say(self, text: str) -> tuple[str, str]:
        """The system message and the last one of the user, as the model gets them."""
        await self.agent.ainvoke({"messages": [("user", text)]}, {"configurable": {"thread_id": "A"}})
        await self.middleware.finish_learning()
        messages = self.server.requests[-1].body["messages"]
        return messages[0]["content"], messages[-1]["content"]


@pytest.fixture
async def talk(memory: Memory) -> AsyncIterator[Talk]:
    for text in ("I am lactose intolerant", "I live in Lisbon"):
        await memory.remember(scope(), text)
    with ScriptedOpenAI("Fine.") as server:
        yield Talk(memory, server)


async def test_news_stands_beside_the_message(talk: Talk) -> None:
    """What is added or corrected leaves the system message as it was, and comes with each message from then on."""
    before, _ = await talk.say("Hello there, what can I cook?")
    assert "Lisbon" in before
    await talk.say("I am allergic to peanuts.")
    await talk.say("I live in Porto now.")
    for _ in range(2):
        system, last = await talk.say("What can I cook?")
        assert system == before
        news = last.split("New about the person")[1].split("</recalled-memory>")[0]
        assert "peanuts" in news
        assert "Porto" in news
        assert "lactose" not in news


async def test_what_is_forgotten_leaves_the_profile(talk: Talk, memory: Memory) -> None:
    """A memory that is forgotten is out of the profile with the next message, which says that once."""
    assert "lactose" in (await talk.say("What can I cook?"))[0]
    (found,) = [each for each in await memory.list(scope()) if "lactose" in each.text]
    await memory.forget(scope(), found.id)
    system, last = await talk.say("And for tomorrow?")
    assert "lactose" not in system
    assert "Lisbon" in system
    assert "soft_deleted: [Constraints] The user is lactose intolerant" in last
    assert "lactose" not in "".join(await talk.say("And the day after?"))


async def test_after_a_pause_the_profile_begins_anew(talk: Talk, memory: Memory) -> None:
    """After an hour no cache holds the prompt, and what is new takes its place in the profile."""
    await talk.say("I live in Porto now.")
    assert "Porto" not in (await talk.say("What can I cook?"))[0]
    cast("FixedClock", memory.engine.clock).advance(7_200)
    system, last = await talk.say("What can I cook?")
    assert "Porto" in system
    assert "New about the person" not in last


@pytest.mark.parametrize("name", ["telling", "correcting"])
async def test_the_share_that_a_cache_holds(memory: Memory, name: str) -> None:
    """Of the prompts of 20 turns a cache holds at least nine tenths of what it holds without memory."""
    found = await prompt_cache.compare(memory, name, turns=20, words=6)
    assert found["tokens_memory"] > found["tokens"]
    assert found["ratio"] >= prompt_cache.LIMIT
