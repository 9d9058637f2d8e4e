"""The plain loop over the client of openai, against a server over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from openai import APIStatusError, AsyncOpenAI

from muniment.chain import ChatLoop, Host, Middleware, TurnContext, TurnOutput
from muniment.testing import ScriptedOpenAI, tool_call
from tests.chain.middlewares import WHO, Recorder, Troubled, fail


def look_up(place: str, days: int = 1) -> dict[str, object]:
    """The weather of a place."""
    if place == "nowhere":
        raise LookupError("no such place")
    return {"place": place, "days": days, "sun": True}


async def wait_briefly() -> str:
    """Take a moment."""
    await asyncio.sleep(0)
    return "waited"


def answer_chat(body: dict[str, Any]) -> str | dict[str, Any]:
    """Call what the user's message names, once; then say what the tool gave."""
    last = body["messages"][-1]
    if last["role"] == "tool":
        return f"It says {last['content']}"
    name, _, arguments = str(last["content"]).partition("\n")[0].partition(" ")
    return tool_call(name, arguments) if name in {"look_up", "wait_briefly", "missing"} else f"You said {name}"


@pytest.fixture
def server() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI(answer_chat) as running:
        yield running


@pytest.fixture
async def client(server: ScriptedOpenAI) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as opened:
        yield opened


def make_loop(client: AsyncOpenAI, *middlewares: Middleware) -> ChatLoop:
    return ChatLoop(
        host=Host(middlewares),
        client=client,
        model="scripted",
        identity=WHO,
        system="Be brief.",
        tools=[look_up, wait_briefly],
    )


async def ask(loop: ChatLoop, text: str, *, is_streamed: bool) -> tuple[TurnOutput, list[str]]:
    """The output of a turn, and its parts where they are streamed."""
    if not is_streamed:
        return await loop.send_text(text), []
    parts = [part async for part in loop.stream_text(text)]
    assert isinstance(parts[-1], TurnOutput)
    return parts[-1], [str(part) for part in parts[:-1]]


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_p37_a_turn_with_a_tool(*, client: AsyncOpenAI, server: ScriptedOpenAI, is_streamed: bool) -> None:
    """Both requests begin with the same bytes; additions are in neither the output nor the conversation."""
    calls: list[str] = []
    loop = make_loop(client, Recorder("a", calls), Troubled(fail))
    output, parts = await ask(loop, 'look_up {"place": "Porto", "days": "2"}', is_streamed=is_streamed)
    assert output.text == 'It says {"place":"Porto","days":2,"sun":true}'
    assert "".join(parts) == (output.text if is_streamed else "")
    assert len(parts) > 2 or not is_streamed
    first, second = ([*request.body["messages"]] for request in server.requests)
    assert json.dumps(second[: len(first)]) == json.dumps(first)
    assert first[1]["content"].endswith("\n\nby a")
    assert [message.role for message in loop.messages] == ["user", "assistant", "tool", "assistant"]
    assert "by a" not in str(loop.messages)
    await loop.host.aclose()
    assert calls == ["before a", f"tool a {output.text.removeprefix('It says ')}", "after a"]


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_the_next_turn_has_the_conversation(
    *, client: AsyncOpenAI, server: ScriptedOpenAI, is_streamed: bool
) -> None:
    """With calls and results, which a provider checks."""
    loop = make_loop(client)
    await ask(loop, "wait_briefly", is_streamed=is_streamed)
    await ask(loop, "hello", is_streamed=is_streamed)
    roles = [message["role"] for message in server.requests[-1].body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert server.requests[-1].body["messages"][3] == {"role": "tool", "content": "waited", "tool_call_id": "call_1"}
    assert [tool["function"]["name"] for tool in server.requests[0].body["tools"]] == ["look_up", "wait_briefly"]
    assert server.requests[0].body["tools"][0]["function"]["parameters"]["required"] == ["place"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('look_up {"place": "nowhere"}', "LookupError: no such place"),
        ('look_up {"plaice": "Porto"}', "place: Missing required argument; plaice: Unexpected keyword argument"),
        ("look_up [1, 2]", "the arguments are no JSON object"),
        ('look_up {"place": "Por', "the arguments are no JSON object"),
        ("missing {}", "there is no tool missing"),
    ],
)
async def test_a_tool_that_fails(text: str, error: str, client: AsyncOpenAI) -> None:
    """The model is told what is wrong, the middlewares that it failed, and the turn goes on."""
    seen: list[tuple[bool, str]] = []

    class Watcher:
        async def on_tool_result(self, context: TurnContext, output: Any) -> None:
            seen.append((output.is_error, output.text))

    loop = make_loop(client, Watcher())
    assert (await loop.send_text(text)).text == f"It says {error}"
    assert seen == [(True, error)]


async def test_parallel_calls_in_a_stream() -> None:
    """The parts of two calls come in turns; each is answered under its id."""

    def answer(body: dict[str, Any]) -> str | dict[str, Any]:
        results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        if results:
            return " and ".join(results)
        calls = [
            tool_call("look_up", {"place": place}, call_id=place)["tool_calls"][0] for place in ("Porto", "Lisbon")
        ]
        return {"content": "Let me see. ", "tool_calls": calls}

    with ScriptedOpenAI(answer) as server:
        async with AsyncOpenAI(base_url=server.base_url, api_key="none") as client:
            loop = make_loop(client)
            output, parts = await ask(loop, "both", is_streamed=True)
    assert [call.arguments["place"] for call in loop.messages[1].tool_calls] == ["Porto", "Lisbon"]
    assert [message.tool_call_id for message in loop.messages[2:4]] == ["Porto", "Lisbon"]
    assert "".join(parts) == f"Let me see. {output.text}"


async def test_a_model_that_calls_for_ever_has_to_answer() -> None:
    """The last request of a turn permits no call, and what is called nevertheless is not."""
    with ScriptedOpenAI(tool_call("wait_briefly", {})) as server:
        async with AsyncOpenAI(base_url=server.base_url, api_key="none") as client:
            loop = replace(make_loop(client), max_steps=3)
            output = await loop.send_text("go")
    assert [request.body.get("tool_choice") for request in server.requests] == [None, None, "none"]
    assert output.messages[-1].tool_calls == ()
    assert sum(message.role == "tool" for message in output.messages) == 2


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_provider_that_fails(*, client: AsyncOpenAI, server: ScriptedOpenAI, is_streamed: bool) -> None:
    """The client's error is raised; nothing of the turn stays in the conversation, and the next is answered."""
    recorder = Recorder("a", [])
    loop = make_loop(client, recorder)
    server.fail_next(["server_error"])
    with pytest.raises(APIStatusError):
        await ask(loop, "hello", is_streamed=is_streamed)
    assert loop.messages == ()
    assert (await ask(loop, "hello", is_streamed=is_streamed))[0].text == "You said hello"
    await loop.host.aclose()
    assert [one.status for one in recorder.outputs] == ["failed", "done"]


async def test_a_stream_that_is_left(client: AsyncOpenAI) -> None:
    """Nothing of it stays in the conversation, and its connection is closed."""
    recorder = Recorder("a", [])
    loop = make_loop(client, recorder)
    async with aclosing(loop.stream_text("hello")) as parts:
        assert await anext(parts) == "You "
    await loop.host.aclose()
    assert (recorder.outputs[0].status, loop.messages) == ("aborted", ())


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_command_is_never_sent(*, client: AsyncOpenAI, server: ScriptedOpenAI, is_streamed: bool) -> None:
    """It stays in the conversation that a person sees."""

    class Command:
        async def before_prompt(self, context: TurnContext) -> TurnContext:
            return replace(context, reply="switched off") if context.user_text == "/off" else context

    loop = make_loop(client, Command())
    output, parts = await ask(loop, "/off", is_streamed=is_streamed)
    assert (output.text, parts) == ("switched off", ["switched off"] if is_streamed else [])
    assert server.requests == []
    await ask(loop, "hello", is_streamed=is_streamed)
    assert [message["content"] for message in server.requests[0].body["messages"]] == ["Be brief.", "hello"]
    assert [message.text for message in loop.messages] == ["/off", "switched off", "hello", "You said hello"]


async def test_old_turns_leave_when_the_middlewares_have_them(client: AsyncOpenAI) -> None:
    """A cut is at a message of the user; where a middleware fails, everything stays."""
    calls: list[str] = []
    loop = make_loop(client, Recorder("a", calls))
    for text in ("wait_briefly", "one", "two"):
        await loop.send_text(text)
    kept = loop.messages
    assert not await replace(loop, host=Host([Troubled(fail)])).compact_messages(2)
    assert await loop.compact_messages(5)
    assert loop.messages == kept
    assert await loop.compact_messages(2)
    assert [message.text for message in loop.messages] == ["one", "You said one", "two", "You said two"]
    assert await loop.compact_messages(0)
    assert loop.messages == ()
    await loop.host.aclose()
    assert [call for call in calls if call.startswith("compact")] == ["compact a 4", "compact a 4"]


async def test_two_tools_of_one_name_are_refused(client: AsyncOpenAI) -> None:
    with pytest.raises(ValueError, match="two tools are called look_up"):
        ChatLoop(host=Host([]), client=client, model="scripted", identity=WHO, tools=[look_up, look_up])
