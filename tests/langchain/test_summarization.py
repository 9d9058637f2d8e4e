"""`CompactingSummarization` in `create_agent`: what a summary is to replace is written first, and only then goes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.tools import StructuredTool

from muniment.chain import Host, open_sync_host
from muniment.langchain import ChainMiddleware, CompactingSummarization, MemoryMiddleware
from muniment.memory.client import Memory
from muniment.testing.openai_server import ScriptedOpenAI
from tests.engine import scope
from tests.langchain.chains import (
    THREAD,
    Adder,
    Recorder,
    make_agent,
    make_model,
    make_unmetered_model,
    prompts,
    say,
)
from tests.langchain.conftest import make_patient


async def test_a_summary_replaces_what_is_written(recorder: Recorder, start: Callable[..., ScriptedOpenAI]) -> None:
    """What leaves is told first; where that fails it stays, and goes later. Commands are in no summary, and stay."""
    server = start("One.", "Two.", "Three.", "SUMMARY", "Four.", "Five.")
    async with Host([recorder]) as host:
        chain = ChainMiddleware(host, user="ana")
        rules: Any = {"trigger": ("messages", 5), "keep": ("messages", 2)}
        summing = CompactingSummarization(make_model(server), chain=chain, **rules)
        agent = make_agent(server, chain, summing)
        await agent.ainvoke(say("first"), THREAD)
        await agent.ainvoke(say("/command"), THREAD)
        await agent.ainvoke(say("second"), THREAD)
        recorder.is_down = True
        state = await agent.ainvoke(say("third"), THREAD)
        assert (len(state["messages"]), recorder.left) == (8, [])
        recorder.is_down = False
        state = await agent.ainvoke(say("fourth"), THREAD)
        await host.drain(5)
    assert [message.text for message in recorder.left] == ["first", "One.", "second", "Two.", "third"]
    texts = [message.text for message in state["messages"]]
    assert texts[0].endswith("SUMMARY")
    assert texts[1:] == ["Three.", "fourth", "Four."]
    assert "command" not in json.dumps(prompts(server))
    assert recorder.turns[-1].user_text == "fourth"


def test_a_summary_for_synchronous_callers(recorder: Recorder, start: Callable[..., ScriptedOpenAI]) -> None:
    """The same without asyncio: what cannot be written stays, and goes once it can be."""
    server = start("One.", "Two.", "SUMMARY", "Three.")
    with open_sync_host(recorder) as host:
        chain = ChainMiddleware(host, user="ana")
        rules: Any = {"trigger": ("messages", 3), "keep": ("messages", 1)}
        agent = make_agent(server, chain, CompactingSummarization(make_model(server), chain=chain, **rules))
        agent.invoke(say("first"), THREAD)
        recorder.is_down = True
        state = agent.invoke(say("second"), THREAD)
        assert (len(state["messages"]), recorder.left) == (4, [])
        recorder.is_down = False
        state = agent.invoke(say("third"), THREAD)
    assert [message.text for message in recorder.left] == ["first", "One.", "second", "Two."]
    assert [message.text for message in state["messages"][1:]] == ["third", "Three."]


async def test_a_summary_before_is_told_to_nobody(recorder: Recorder, start: Callable[..., ScriptedOpenAI]) -> None:
    """What it stands for is written already, and it is no message of anybody."""
    server = start("One.", "FIRST SUMMARY", "Two.", "SECOND SUMMARY", "Three.")
    async with Host([recorder]) as host:
        chain = ChainMiddleware(host, user="ana")
        rules: Any = {"trigger": ("messages", 3), "keep": ("messages", 1)}
        agent = make_agent(server, chain, CompactingSummarization(make_model(server), chain=chain, **rules))
        for text in ("first", "second", "third"):
            state = await agent.ainvoke(say(text), THREAD)
    assert [(message.role, message.text) for message in recorder.left] == [
        ("user", "first"),
        ("assistant", "One."),
        ("user", "second"),
        ("assistant", "Two."),
    ]
    assert [message.text.rpartition("\n")[2] for message in state["messages"]] == ["SECOND SUMMARY", "third", "Three."]


async def test_a_command_behind_what_stays_stays(recorder: Recorder, start: Callable[..., ScriptedOpenAI]) -> None:
    """It keeps its place among the messages that no summary replaces, and only what stood before them goes."""
    server = start("One.", "Two.", "SUMMARY", "Three.")
    async with Host([recorder]) as host:
        chain = ChainMiddleware(host, user="ana")
        rules: Any = {"trigger": ("messages", 5), "keep": ("messages", 2)}
        agent = make_agent(server, chain, CompactingSummarization(make_model(server), chain=chain, **rules))
        for text in ("first", "/command early", "second", "/command late", "third"):
            state = await agent.ainvoke(say(text), THREAD)
    texts = [message.text for message in state["messages"]]
    assert texts[0].endswith("SUMMARY")
    assert texts[1:] == ["Two.", "/command late", "Done.", "third", "Three."]


def make_tool(words: int) -> StructuredTool:
    """A tool whose description has so many words."""
    return StructuredTool.from_function(lambda: "Nothing.", name="look", description="word " * words)


@pytest.mark.parametrize(("system", "added", "described"), [(600, 1, 1), (1, 600, 1), (1, 1, 600), (1, 1, 1)])
async def test_a_summary_is_due_by_all_that_goes_before_a_model(
    start: Callable[..., ScriptedOpenAI], system: int, added: int, described: int
) -> None:
    """A limit of tokens counts the system prompt, the tools and what a chain adds, beside the messages, also where the
    model does not say what it has counted."""
    is_long = system + added + described > 3
    server = start("One.", *(["SUMMARY"] if is_long else []), "Two.")
    model = make_unmetered_model(server)
    async with Host([Adder(added)]) as host:
        chain = ChainMiddleware(host, user="ana")
        rules: Any = {"trigger": ("tokens", 500), "keep": ("messages", 1)}
        summing = CompactingSummarization(model, chain=chain, **rules)
        given: Any = {"system_prompt": "word " * system, "tools": [make_tool(described)]}
        agent = make_agent(server, chain, summing, model=model, **given)
        state = await agent.ainvoke(say("first"), THREAD)
        assert state["messages"][-1].usage_metadata is None
        state = await agent.ainvoke(say("second"), THREAD)
    assert ("SUMMARY" in state["messages"][0].text) is is_long


@pytest.mark.parametrize("added", [600, 1])
def test_a_summary_of_synchronous_callers_is_due_by_all(start: Callable[..., ScriptedOpenAI], added: int) -> None:
    """The same without asyncio."""
    is_long = added > 1
    server = start("One.", *(["SUMMARY"] if is_long else []), "Two.")
    model = make_unmetered_model(server)
    with open_sync_host(Adder(added)) as host:
        chain = ChainMiddleware(host, user="ana")
        rules: Any = {"trigger": ("tokens", 500), "keep": ("messages", 1)}
        agent = make_agent(server, chain, CompactingSummarization(model, chain=chain, **rules), model=model)
        agent.invoke(say("first"), THREAD)
        state = agent.invoke(say("second"), THREAD)
    assert ("SUMMARY" in state["messages"][0].text) is is_long


async def test_a_summary_is_none_of_the_users_words(
    memory: Memory, start: Callable[..., ScriptedOpenAI], database_url: str
) -> None:
    """What leaves is in the ledger of the engine and built, and a summary is neither learned nor recorded."""
    server = start("One.", "I am allergic to cheese.", "Two.", "Three.")
    ours = make_patient(memory, "ana")
    summing = CompactingSummarization(make_model(server), chain=ours, trigger=("messages", 3), keep=("messages", 1))
    agent = make_agent(server, ours, summing)
    await agent.ainvoke(say("I am allergic to peanuts."), THREAD)
    await agent.ainvoke(say("Tell me a story."), THREAD)
    await ours.finish_learning()
    assert len(server.requests) == 3
    session = await memory.sessions.get(scope(), "A")
    texts = [turn.text for turn in session.turns]
    assert texts == ["I am allergic to peanuts.", "One.", "Tell me a story.", "Two."]
    assert session.session.built_to >= 2
    known = " ".join(each.text for each in await memory.list(scope()))
    assert "peanuts" in known
    assert "cheese" not in known


async def test_a_private_thread_is_summarized_and_not_written(
    memory: Memory, start: Callable[..., ScriptedOpenAI]
) -> None:
    server = start("One.", "SUMMARY", "Two.")
    ours = MemoryMiddleware(memory, user="ana", recall_seconds=30)
    summing = CompactingSummarization(make_model(server), chain=ours, trigger=("messages", 3), keep=("messages", 1))
    agent = make_agent(server, ours, summing)
    await agent.ainvoke(say("I am allergic to peanuts.") | {"memory_mode": "private"}, THREAD)
    state = await agent.ainvoke(say("Tell me a story."), THREAD)
    assert "SUMMARY" in state["messages"][0].text
    assert await memory.list(scope()) == []
