"""`ChainMiddleware` in `create_agent`: any chain around an agent, and what a summary is to replace is written first."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRetryMiddleware
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from muniment.chain import Addition, Host, Message, ToolOutput, TurnContext, TurnOutput, open_sync_host
from muniment.langchain import ChainMiddleware, CompactingSummarization, MemoryMiddleware
from muniment.memory.client import Memory
from muniment.memory.errors import BadInput, StoreDown
from muniment.testing.openai_server import ScriptedOpenAI, tool_call
from tests.engine import scope
from tests.langchain.conftest import make_patient

THREAD: Any = {"configurable": {"thread_id": "A"}}
NOTE = "The user likes short answers."


class Recorder:
    """A middleware that adds a text to each turn, answers `/command`, and keeps what it is shown."""

    def __init__(self) -> None:
        self.turns: list[TurnContext] = []
        self.tools: list[ToolOutput] = []
        self.ends: list[tuple[TurnContext, TurnOutput]] = []
        self.left: list[Message] = []
        self.is_down = False

    async def before_prompt(self, context: TurnContext) -> TurnContext:
        self.turns.append(context)
        if context.user_text.startswith("/command"):
            return replace(context, reply="Done.")
        added = Addition(source="test", text=f"{NOTE} {len(self.turns)}", placement="user")
        lasting = Addition(source="test", text="Lasting.", placement="system")
        return replace(context, additions=(lasting, added))

    async def on_tool_result(self, context: TurnContext, output: ToolOutput) -> None:
        assert context.turn_id == self.turns[-1].turn_id
        self.tools.append(output)

    async def after_prompt(self, context: TurnContext, output: TurnOutput) -> None:
        self.ends.append((context, output))

    async def before_compact(self, context: TurnContext, messages: Sequence[Message]) -> None:
        assert context.identity.user == "ana"
        if self.is_down:
            raise StoreDown("away")
        self.left += messages


@tool
def weather(place: str) -> str:
    """The weather of a place."""
    if place == "Nowhere":
        raise ValueError("there is no such place")
    return f"Sunny in {place}"


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


def make_model(server: ScriptedOpenAI) -> ChatOpenAI:
    return ChatOpenAI(model="scripted", base_url=server.base_url, api_key=cast("Any", "none"), max_retries=0)


def make_agent(server: ScriptedOpenAI, *middleware: AgentMiddleware[Any, Any, Any], **more: Any) -> Any:
    return create_agent(make_model(server), middleware=middleware, checkpointer=InMemorySaver(), **more)


def say(text: str) -> dict[str, Any]:
    return {"messages": [("user", text)]}


def prompts(server: ScriptedOpenAI) -> list[list[dict[str, Any]]]:
    return [request.body["messages"] for request in server.requests]


async def test_a_turn_is_prepared_once_and_seen_to_its_end(
    recorder: Recorder, start: Callable[..., ScriptedOpenAI]
) -> None:
    """Each step of a tool loop has the same additions, results are told, and the thread has none of it (P-35..P-37)."""
    server = start(tool_call("weather", {"place": "Faro"}), "Sunny.")
    async with Host([recorder]) as host:
        agent = make_agent(server, ChainMiddleware(host, user="ana"), tools=[weather], system_prompt="Be kind.")
        state = await agent.ainvoke(say("What is the weather in Faro?"), THREAD)
        await host.drain(5)
    first, second = prompts(server)
    assert second[:2] == first
    assert first[0]["content"] == "Be kind.\n\nLasting."
    assert first[1]["content"] == f"What is the weather in Faro?\n\n{NOTE} 1"
    assert NOTE not in str(state["messages"])
    assert [(one.call.name, one.text, one.is_error) for one in recorder.tools] == [("weather", "Sunny in Faro", False)]
    ((context, output),) = recorder.ends
    assert context.identity.session == "A"
    assert [message.role for message in output.messages] == ["assistant", "tool", "assistant"]
    assert (output.text, output.status) == ("Sunny.", "done")


async def test_a_tool_that_fails_is_told_and_fails_as_before(
    recorder: Recorder, start: Callable[..., ScriptedOpenAI]
) -> None:
    server = start(tool_call("weather", {"place": "Nowhere"}), "Sunny.")
    async with Host([recorder]) as host:
        agent = make_agent(server, ChainMiddleware(host, user="ana"), tools=[weather])
        with pytest.raises(ValueError, match="no such place"):
            await agent.ainvoke(say("What is the weather?"), THREAD)
    assert [one.is_error for one in recorder.tools] == [True]


async def test_a_command_needs_no_model_and_is_shown_to_none(
    recorder: Recorder, start: Callable[..., ScriptedOpenAI]
) -> None:
    """The exchange stays in the thread, and no later prompt or context has it (P-20..P-23)."""
    server = start("Hello.", "Bye.")
    async with Host([recorder]) as host:
        agent = make_agent(server, ChainMiddleware(host, user="ana"))
        await agent.ainvoke(say("Hi"), THREAD)
        state = await agent.ainvoke(say("/command now"), THREAD)
        assert len(server.requests) == 1
        assert [message.text for message in state["messages"]] == ["Hi", "Hello.", "/command now", "Done."]
        state = await agent.ainvoke(say("See you"), THREAD)
        await host.drain(5)
    assert [message.type for message in state["messages"]] == ["human", "ai"] * 3
    assert "command" not in json.dumps(prompts(server))
    assert [message.text for message in recorder.turns[-1].messages] == ["Hi", "Hello.", "See you"]
    replies = [context.reply for context, _ in recorder.ends]
    assert replies == [None, "Done.", None]


def test_a_synchronous_program_and_a_stream(recorder: Recorder, start: Callable[..., ScriptedOpenAI]) -> None:
    """`invoke` and `stream` over a chain in a thread of its own."""
    server = start(tool_call("weather", {"place": "Faro"}), "Sunny today.", "Bye.")
    with open_sync_host(recorder) as host:
        agent = make_agent(server, ChainMiddleware(host, user="ana"), tools=[weather])
        tokens = [
            chunk.content
            for chunk, _ in agent.stream(say("What is the weather?"), THREAD, stream_mode="messages")
            if chunk.type == "AIMessageChunk" and chunk.content
        ]
        assert "".join(tokens) == "Sunny today."
        assert len(tokens) > 1
        assert agent.invoke(say("/command"), THREAD)["messages"][-1].text == "Done."
        agent.invoke(say("Bye"), THREAD)
        assert host.drain(5) == 0
    assert [one.text for one in recorder.tools] == ["Sunny in Faro"]
    assert [context.turn_id for context, _ in recorder.ends] == [turn.turn_id for turn in recorder.turns]
    assert NOTE in json.dumps(prompts(server)[0])


def test_a_host_without_a_door_serves_synchronous_callers(
    recorder: Recorder, start: Callable[..., ScriptedOpenAI]
) -> None:
    """A plain `Host` of a program without asyncio works on a loop in the background."""
    server = start()
    agent = make_agent(server, ChainMiddleware(Host([recorder]), user="ana"))
    assert agent.invoke(say("Hi"), THREAD)["messages"][-1].text == "Fine."
    assert NOTE in json.dumps(prompts(server)[0])


class Failing(AgentMiddleware[Any, Any, Any]):
    """Another's middleware that fails at its first call of the model."""

    def __init__(self) -> None:
        super().__init__()
        self.left = 1

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        if self.left:
            self.left = 0
            raise RuntimeError("theirs")
        return await handler(request)


async def test_beside_one_that_fails(recorder: Recorder, start: Callable[..., ScriptedOpenAI]) -> None:
    """A run that fails is told as failed when its thread goes on; one that is tried again is done."""
    server = start()
    async with Host([recorder]) as host:
        agent = make_agent(server, ChainMiddleware(host, user="ana"), Failing())
        with pytest.raises(RuntimeError, match="theirs"):
            await agent.ainvoke(say("I am allergic to peanuts."), THREAD)
        await agent.ainvoke(say("Hi"), THREAD)
        retrying = make_agent(
            server, ModelRetryMiddleware(initial_delay=0), ChainMiddleware(host, user="ana"), Failing()
        )
        await retrying.ainvoke(say("Again"), {"configurable": {"thread_id": "B"}})
        await host.drain(5)
    assert [(context.user_text, output.status, output.error) for context, output in recorder.ends] == [
        ("I am allergic to peanuts.", "failed", "RuntimeError"),
        ("Hi", "done", None),
        ("Again", "done", None),
    ]


async def test_a_chain_that_fails_fails_no_run(start: Callable[..., ScriptedOpenAI]) -> None:
    """A hook that fails and one that is late leave the run as it is without them (P-90)."""

    class Broken(Recorder):
        async def before_prompt(self, context: TurnContext) -> TurnContext:
            if self.is_down:
                await asyncio.sleep(60)
            raise RuntimeError("ours")

    server, broken = start(), Broken()
    async with Host([broken], before_seconds=0.05) as host:
        agent = make_agent(server, ChainMiddleware(host, user="ana"))
        for broken.is_down in (False, True):
            state = await agent.ainvoke(say("Hi"), THREAD)
            assert state["messages"][-1].text == "Fine."


async def test_whose_turn_it_is_has_to_be_said(recorder: Recorder, start: Callable[..., ScriptedOpenAI]) -> None:
    server = start()
    async with Host([recorder]) as host:
        agent = make_agent(server, ChainMiddleware(host))
        with pytest.raises(BadInput, match="muniment_chain cannot tell whose memory it is"):
            await agent.ainvoke(say("Hi"), THREAD)
        await agent.ainvoke(say("Hi"), {"configurable": {"thread_id": "A", "user": "ana", "project": "shop"}})
    identity = recorder.turns[-1].identity
    assert (identity.tenant, identity.user, identity.project, identity.session) == ("default", "ana", "shop", "A")


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


@dataclass
class Adder:
    """A middleware that adds a text of so many words."""

    words: int

    async def before_prompt(self, context: TurnContext) -> TurnContext:
        added = Addition(source="test", text="word " * self.words, placement="user")
        return replace(context, additions=(added,))


@pytest.mark.parametrize(("system", "added"), [(600, 1), (1, 600), (1, 1)])
async def test_a_summary_is_due_by_all_that_goes_before_a_model(
    start: Callable[..., ScriptedOpenAI], system: int, added: int
) -> None:
    """A limit of tokens counts the system prompt, the tools and what a chain adds, beside the messages."""
    is_long = system + added > 2
    server = start("One.", *(["SUMMARY"] if is_long else []), "Two.")
    async with Host([Adder(added)]) as host:
        chain = ChainMiddleware(host, user="ana")
        rules: Any = {"trigger": ("tokens", 500), "keep": ("messages", 1)}
        summing = CompactingSummarization(make_model(server), chain=chain, **rules)
        agent = make_agent(server, chain, summing, system_prompt="word " * system)
        await agent.ainvoke(say("first"), THREAD)
        state = await agent.ainvoke(say("second"), THREAD)
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
