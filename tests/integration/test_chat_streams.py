"""Streamed answers of a chat model over real HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import openai
import pytest

from muniment.memory.errors import BadModelAnswer, ModelError, ModelRateLimited, ModelUnavailable
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.memory.ports.llm import ChatAnswer, Tool, ToolCall
from muniment.testing.openai_server import ScriptedOpenAI, tool_call
from tests.integration.test_chat_model import ASK, KEY, LOOK, chat_with


@pytest.mark.parametrize(
    ("reply", "content", "calls"),
    [
        ("One line.\nTwo  lines 🙂.", "One line.\nTwo  lines 🙂.", []),
        (tool_call("memory_query", {"text": "x"}), "", ["memory_query"]),
    ],
)
async def test_the_scripted_server_streams(reply: Any, content: str, calls: Sequence[str]) -> None:
    """The real client puts the pieces together again, the usage last."""
    with ScriptedOpenAI(reply=reply) as server:
        client = openai.AsyncOpenAI(api_key=KEY, base_url=server.base_url)
        stream = await client.chat.completions.create(
            model="tiny-1",
            messages=[{"role": "user", "content": "Hi"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
        await client.close()
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == content
    names = [call.function.name for delta in deltas for call in delta.tool_calls or () if call.function]
    assert [name for name in names if name] == calls
    assert chunks[-1].usage is not None


async def collect(chat: OpenAIChat, tools: Sequence[Tool] = ()) -> tuple[list[str], ChatAnswer]:
    """The parts of a streamed answer, and the whole."""
    *parts, whole = [part async for part in chat.stream_chat(ASK, tools)]
    assert isinstance(whole, ChatAnswer)
    return [part for part in parts if isinstance(part, str)], whole


async def test_a_stream_ends_in_the_answer_that_would_have_come_at_once() -> None:
    """In parts of a word each, with its cost; the calls of tools are put together."""
    call = tool_call("memory_query", {"text": "Wohnort"}, call_id="c7")
    with ScriptedOpenAI(reply=["You live in Zürich 🏔.", call]) as server:
        async with chat_with(server.base_url) as chat:
            parts, whole = await collect(chat)
            assert parts == ["You ", "live ", "in ", "Zürich ", "🏔."]
            assert whole.message.content == "".join(parts)
            assert (whole.input_tokens > 0, whole.output_tokens > 0) == (True, True)
            nothing, calling = await collect(chat, [LOOK])
    assert nothing == []
    assert calling.message.tool_calls == (ToolCall(id="c7", name="memory_query", arguments={"text": "Wohnort"}),)
    assert server.requests[0].body["stream_options"] == {"include_usage": True}


async def test_an_old_endpoint_streams_without_its_usage() -> None:
    """It refuses the option once, and is not asked with it again."""
    with ScriptedOpenAI(reply="Fine.", unknown=["stream_options"]) as server:
        async with chat_with(server.base_url) as chat:
            for _ in range(2):
                assert (await collect(chat))[1].input_tokens == 0
    assert ["stream_options" in request.body for request in server.requests] == [True, False, False]


@pytest.mark.parametrize(
    ("fail", "error"),
    [("rate_limit", ModelRateLimited), ("server_error", ModelUnavailable), ("bad_request", ModelError),
     ("wrong_schema", BadModelAnswer), ("cut_off", BadModelAnswer), ("empty", BadModelAnswer),
     ("refusal", BadModelAnswer), ("drop", ModelUnavailable)],
)  # fmt: skip
async def test_a_stream_fails_with_a_name(fail: Any, error: type[ModelError]) -> None:
    """As an answer at once does."""
    with ScriptedOpenAI(fail=fail) as server:
        async with chat_with(server.base_url) as chat:
            with pytest.raises(error):
                await collect(chat)
