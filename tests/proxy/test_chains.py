"""Calls of tools and thoughts over several turns: a conversation goes upstream, and thoughts are kept nowhere."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import openai
import pytest

from muniment.testing import ScriptedOpenAI
from tests.proxy.chains import find_flaw
from tests.proxy.clients.openai_client import ask
from tests.proxy.hosting import Host

TURNS = 5
THOUGHT = "kangaroos ponder quietly"


def think_and_call(body: dict[str, Any]) -> dict[str, Any]:
    """A model that thinks, calls two tools at once, and answers when it has the results."""
    thoughts = {"reasoning_content": THOUGHT, "reasoning": THOUGHT}
    if body["messages"][-1]["role"] == "tool":
        return thoughts | {"content": f"Both are known: {uuid4().hex}."}
    number = body["messages"][-1]["content"].strip("?").split()[-1]
    calls = [
        {
            "id": f"call_{number}_{city}",
            "type": "function",
            "function": {"name": "look_up", "arguments": json.dumps({"what": city})},
        }
        for city in ("Lisbon", "Porto")
    ]
    return thoughts | {"content": None, "tool_calls": calls}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("sends_all", [True, False])
def test_parallel_calls_over_five_turns(host: Host, *, stream: bool, sends_all: bool) -> None:
    """The fifth request holds the four turns before it, each call before its results, whether the client sends what was
    said before or not; no thought is in the database."""
    with ScriptedOpenAI(think_and_call) as upstream:
        token = host.register(upstream.base_url, session_window_size=100)
        with openai.OpenAI(base_url=f"{host.url}/v1", api_key=token.secret, max_retries=0) as client:
            messages: list[Any] = []
            for number in range(TURNS):
                said = {"role": "user", "content": f"What of number {number}?"}
                messages = [*(messages if sends_all else ()), said]
                answer = ask(client, messages, stream=stream, more={})
                results = [
                    {"role": "tool", "tool_call_id": call["id"], "content": f"{call['id']} is fine."}
                    for call in answer["tool_calls"]
                ]
                messages += [{"role": "assistant", "content": None, "tool_calls": answer["tool_calls"]}, *results]
                answer = ask(client, messages, stream=stream, more={})
                messages.append({"role": "assistant", "content": answer["content"]})
                host.wait_stored(token, 5 * (number + 1))
    assert len(upstream.requests) == 2 * TURNS
    for request in upstream.requests:
        assert find_flaw(request.body["messages"]) is None, request.body["messages"]
    fifth = upstream.requests[-1].body["messages"]
    called = [call["id"] for message in fifth for call in message.get("tool_calls") or ()]
    assert called == [f"call_{number}_{city}" for number in range(TURNS) for city in ("Lisbon", "Porto")]
    assert [message["tool_call_id"] for message in fifth if message["role"] == "tool"] == called
    asked = [message["content"] for message in fifth if message["role"] == "user"]
    assert asked == [f"What of number {number}?" for number in range(TURNS)]
    stored = host.read_messages(token)
    assert [one["role"] for one in stored] == ["user", "assistant", "tool", "tool", "assistant"] * TURNS
    assert host.find_word(THOUGHT) == []


def test_a_window_that_begins_within_a_chain(host: Host) -> None:
    """Whatever part of a chain the window holds, the request is a conversation."""
    flaws = []
    with ScriptedOpenAI(think_and_call) as upstream:
        for size in range(1, 9):
            token = host.register(upstream.base_url, session_window_size=size)
            with openai.OpenAI(base_url=f"{host.url}/v1", api_key=token.secret, max_retries=0) as client:
                for number in range(2):
                    messages: list[Any] = [{"role": "user", "content": f"What of number {number}?"}]
                    answer = ask(client, messages, stream=True, more={})
                    messages.append({"role": "assistant", "content": None, "tool_calls": answer["tool_calls"]})
                    calls = answer["tool_calls"]
                    messages += [{"role": "tool", "tool_call_id": call["id"], "content": "Fine."} for call in calls]
                    ask(client, messages, stream=True, more={})
                    host.wait_stored(token, 5 * (number + 1))
        flaws = [find_flaw(request.body["messages"]) for request in upstream.requests]
    assert flaws == [None] * len(upstream.requests)
