"""A real `langgraph dev` with a model, as its SDK sees it: tokens, tool calls, events, interrupts and errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from muniment.testing.openai_server import ScriptedOpenAI, tool_call
from tests.graph.serving import served

MODES: Any = ["messages-tuple", "values", "custom"]
WORDS = "Your marathon is in Lisbon, in October, on a Sunday."


def answer(body: dict[str, Any]) -> Any:
    """Call memory_query for a question once, and for an order in a way that is refused."""
    *_, last = body["messages"]
    if last["role"] == "tool":
        return WORDS
    said = str(last["content"])
    if said.startswith("When"):
        return tool_call("memory_query", {"query": "marathon", "categories": ["goals"]}, call_id="c1")
    return tool_call("memory_query", {"query": "x", "top_k": 0}, call_id="c2") if said.startswith("Look") else "Noted."


@pytest.fixture
def address(database_url: str, tmp_path: Path) -> Iterator[str]:
    with ScriptedOpenAI(answer) as model:
        environment = {"MUNIMENT_DEVELOPMENT": "1", "MUNIMENT_MODEL": "tiny-1", "OPENAI_BASE_URL": model.base_url}
        with served(database_url, tmp_path, **environment) as address:
            yield address


async def stream(client: LangGraphClient, thread: str, **given: Any) -> list[tuple[str, Any]]:
    """What comes of a run."""
    run = client.runs.stream(thread, "supervisor", context={"user": "ana"}, stream_mode=MODES, **given)
    return [(part.event, part.data) async for part in run]


def said(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


def list_messages(parts: list[tuple[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [(data[0], data[1]) for event, data in parts if event == "messages"]


def list_numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from list_numbers(item)
    elif isinstance(value, int | float):
        yield value


@pytest.mark.timeout(120)
async def test_a_model_on_a_real_server(address: str) -> None:
    """As Studio and other clients of the server see a turn."""
    async with get_client(url=address) as client:
        thread = (await client.threads.create())["thread_id"]
        await interrupts(client, thread)
        await tokens_and_calls(client, thread)
        await errors(client, thread)
        state = await client.threads.get_state(thread)
        assert max(list_numbers(json.loads(json.dumps(state)))) < 2**53


async def interrupts(client: LangGraphClient, thread: str) -> None:
    """A question has LangChain's shape, and a decision of that shape resumes it."""
    first = await stream(client, thread, input=said("Call me Ana. I'm training for the Lisbon marathon."))
    (interrupt,) = first[-1][1]["__interrupt__"]
    (action,) = interrupt["value"]["action_requests"]
    assert (action["name"], action["args"]) == ("use_in_profile", {"preferred_name": "Ana"})
    assert [data["event"] for event, data in first if event == "custom"] == ["memory.read", "memory.written"]
    resumed = await stream(client, thread, command={"resume": {"decisions": [{"type": "approve"}]}})
    assert "error" not in [event for event, _ in resumed]
    assert not (await client.threads.get_state(thread))["next"]


async def tokens_and_calls(client: LangGraphClient, thread: str) -> None:
    """Tokens arrive one by one; a call is seen with its arguments and its result, and neither is in the thread."""
    parts = await stream(client, thread, input=said("When is it?"))
    seen = list_messages(parts)
    (call,) = [message for message, _ in seen if message.get("tool_calls")]
    assert call["tool_calls"][0]["args"] == {"query": "marathon", "categories": ["goals"]}
    (result,) = [message for message, _ in seen if message["type"] == "tool"]
    assert (result["tool_call_id"], result["status"]) == ("c1", "success")
    assert "training for the Lisbon marathon" in result["content"]
    values = [data for event, data in parts if event == "values"][-1]
    reply = values["messages"][-1]
    tokens = [message["content"] for message, _ in seen if message["id"] == reply["id"]]
    assert "".join(tokens) == reply["content"] == WORDS
    assert len(tokens) > 8
    assert {about["langgraph_node"] for _, about in seen} == {"supervisor"}
    assert [message["type"] for message in values["messages"]] == ["human", "ai"] * 2
    assert values.keys() == {"messages", "reply", "revision", "header", "written", "waiting"}
    state: Any = (await client.threads.get_state(thread))["values"]
    assert [message["type"] for message in state["tool_messages"]] == ["ai", "tool"]
    assert reply["usage_metadata"]["total_tokens"] > 0


async def errors(client: LangGraphClient, thread: str) -> None:
    """A call that is refused says why, and a run that is refused says it, too."""
    parts = await stream(client, thread, input=said("Look."))
    (result,) = [message for message, _ in list_messages(parts) if message["type"] == "tool"]
    assert (result["status"], "top_k" in result["content"]) == ("error", True)
    [event] = [data for event, data in parts if event == "custom" and data["event"] == "memory.refused"]
    assert "top_k" in event["reasons"][0]
    with pytest.raises(httpx.HTTPStatusError) as refused:
        await client.runs.wait(thread, "supervisor", input=said("Hi."), context={"user": "bob"})
    assert "belongs to another user" in refused.value.response.text
