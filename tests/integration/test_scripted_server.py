"""The scripted server with the real client: what it streams is put together again, and what it breaks is noticed."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import openai
import pytest

from muniment.testing import Answer, ScriptedOpenAI

ARGUMENTS = [json.dumps({"city": city}) for city in ("Lisbon", "Porto")]
CALLS: list[dict[str, Any]] = [
    {"id": f"call_{number}", "type": "function", "function": {"name": "weather", "arguments": text}}
    for number, text in enumerate(ARGUMENTS)
]
ASK: Any = {"model": "tiny-1", "messages": [{"role": "user", "content": "Hi"}]}


@asynccontextmanager
async def client_of(server: ScriptedOpenAI) -> AsyncIterator[openai.AsyncOpenAI]:
    """A client that does not try again."""
    async with openai.AsyncOpenAI(api_key="none", base_url=server.base_url, max_retries=0) as client:
        yield client


async def test_thoughts_and_parallel_calls_are_streamed() -> None:
    """Each call begins with its id and name; its arguments come in pieces, in turns with the other's."""
    reply = {"reasoning_content": "Two cities.", "content": "Let me see.", "tool_calls": CALLS}
    with ScriptedOpenAI(reply) as server:
        async with client_of(server) as client:
            stream = await client.chat.completions.create(**ASK, stream=True, stream_options={"include_usage": True})
            chunks = [chunk async for chunk in stream]
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas) == "Two cities."
    assert "".join(delta.content or "" for delta in deltas) == "Let me see."
    pieces = [piece for delta in deltas for piece in delta.tool_calls or ()]
    assert [piece.index for piece in pieces] == [0, 1, 0, 1, 0, 1]
    for index, call in enumerate(CALLS):
        own = [piece for piece in pieces if piece.index == index]
        assert [piece.id for piece in own] == [call["id"], None, None]
        assert "".join(piece.function.arguments or "" for piece in own if piece.function) == ARGUMENTS[index]
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None


async def test_several_choices_come_in_turns() -> None:
    """With `n`, each choice takes the next reply."""
    with ScriptedOpenAI(["One two.", "Three four."]) as server:
        async with client_of(server) as client:
            stream = await client.chat.completions.create(**ASK, n=2, stream=True)
            choices = [chunk.choices[0] async for chunk in stream]
    assert [choice.index for choice in choices[:4]] == [0, 1, 0, 1]
    said = ["".join(one.delta.content or "" for one in choices if one.index == index) for index in (0, 1)]
    assert said == ["One two.", "Three four."]


async def test_responses_and_models() -> None:
    """The response of a stream is the one that would have come at once."""
    with ScriptedOpenAI({"content": "It is warm.", "tool_calls": CALLS[:1]}) as server:
        async with client_of(server) as client:
            whole = await client.responses.create(model="tiny-1", input="Hi")
            stream = await client.responses.create(model="tiny-1", input="Hi", stream=True)
            events = [event async for event in stream]
            models = await client.models.list()
    assert whole.output_text == "It is warm."
    assert [item.type for item in whole.output] == ["message", "function_call"]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    last = events[-1]
    assert last.type == "response.completed"
    assert last.response.output == whole.output
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "It is warm."
    assert [model.id for model in models.data] == ["scripted"]


def test_an_answer_goes_out_as_it_is() -> None:
    """Status, headers in their order, and bytes that nobody has unpacked; and what came is there as it came."""
    packed = gzip.compress(b'{"odd": 1.0}')
    headers = (("X-Odd", "a"), ("x-odd", "b"), ("content-type", "application/x-odd"), ("content-encoding", "gzip"))
    raw = b'{"a": 1.0, "a": 2}'
    with ScriptedOpenAI(Answer(status=418, headers=headers, body=packed)) as server, httpx.Client() as client:
        sent = client.build_request("POST", f"{server.base_url}/chat/completions", content=raw)
        answer = client.send(sent, stream=True)
        assert b"".join(answer.iter_raw()) == packed
        client.post(f"{server.base_url}/chat/completions", content=iter([raw[:5], raw[5:]]))
    assert answer.status_code == 418
    assert [(name.decode(), value.decode()) for name, value in answer.headers.raw[:4]] == list(headers)
    assert [request.raw for request in server.requests] == [raw, raw]


@pytest.mark.parametrize("chunks", [False, True])
def test_an_answer_is_cut(*, chunks: bool) -> None:
    """At the byte that is named, whether it comes with its length or in chunks."""
    body: Any = (b"data: 1\n\n", b"data: 2\n\n") if chunks else b"data: 1\n\ndata: 2\n\n"
    seen: list[bytes] = []
    with (
        ScriptedOpenAI(Answer(body=body, cut=12)) as server,
        httpx.Client() as client,
        client.stream("POST", f"{server.base_url}/chat/completions", json=ASK) as answer,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        seen.extend(answer.iter_raw())
    assert b"".join(seen) == b"data: 1\n\ndat"


@pytest.fixture
def silent() -> Iterator[ScriptedOpenAI]:
    """A server that says a word and then nothing."""
    with ScriptedOpenAI(Answer(body=(b"data: 1\n\n", b"data: 2\n\n"), cut=9, silent=True)) as server:
        yield server


def test_silence_and_a_client_that_leaves(silent: ScriptedOpenAI) -> None:
    """The connection stays open; who leaves is counted."""
    with (
        httpx.Client(timeout=0.3) as client,
        client.stream("POST", f"{silent.base_url}/chat/completions", json=ASK) as answer,
    ):
        parts = answer.iter_raw()
        assert next(parts) == b"data: 1\n\n"
        with pytest.raises(httpx.ReadTimeout):
            next(parts)
    for _ in range(100):
        if silent.abandoned:
            break
        silent.wait_until_stopped(0.05)
    assert silent.abandoned == 1
