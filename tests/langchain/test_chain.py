"""`ChainMiddleware` in `create_agent`: any chain around an agent, for asynchronous and synchronous programs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware, ModelRetryMiddleware
from langchain_core.tools import tool

from muniment.chain import Host, TurnContext, open_sync_host
from muniment.langchain import ChainMiddleware
from muniment.memory.errors import BadInput
from muniment.testing.openai_server import ScriptedOpenAI, tool_call
from tests.langchain.chains import NOTE, THREAD, Recorder, make_agent, prompts, say


@tool
def weather(place: str) -> str:
    """The weather of a place."""
    if place == "Nowhere":
        raise ValueError("there is no such place")
    return f"Sunny in {place}"


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
