"""A real `langgraph dev`: the same story for two threads and two users, through the SDK."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIStatusError
from langgraph_sdk.schema import Command

from muniment.memory.domain.scope import Scope
from tests.graph.conftest import STORY
from tests.graph.serving import served


@pytest.fixture
def address(database_url: str, tmp_path: Path) -> Iterator[str]:
    """A server in development mode: its callers name the user that they speak for."""
    with served(database_url, tmp_path, MUNIMENT_DEVELOPMENT="1") as address:
        yield address


def said(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


async def say(client: LangGraphClient, thread: str, user: str, text: str) -> dict[str, Any]:
    """One turn: what it returns, and the state of the thread after it."""
    output = await client.runs.wait(thread, "supervisor", input=said(text), context={"user": user})
    assert isinstance(output, dict)
    assert output.keys() <= {"messages", "reply", "revision", "header", "written", "waiting", "__interrupt__"}
    values = (await client.threads.get_state(thread))["values"]
    assert isinstance(values, dict)
    return values | output


@pytest.mark.timeout(120)
async def test_the_story_on_a_real_server(address: str, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads of one user share a memory, told once; another user has none; the schemas fill a form."""
    monkeypatch.setenv("MUNIMENT_DATABASE_URL", database_url)
    async with get_client(url=address) as client:
        await tell(client)


STUDIO = "https://smith.langchain.com"


@pytest.mark.timeout(120)
async def test_pages_of_others_read_nothing_and_files_are_its_own(address: str, tmp_path: Path) -> None:
    """Studio and pages of this machine may read answers; any other page may not. Other accounts read no file."""
    preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    async with httpx.AsyncClient(base_url=address) as client:
        for origin in (STUDIO, "http://localhost:3000", "http://127.0.0.1", "http://[::1]:8080"):
            answer = await client.options("/threads", headers={"Origin": origin, **preflight})
            assert answer.headers.get("access-control-allow-origin") == origin, origin
        for origin in ("https://evil.example", "http://localhost.evil.example", f"{STUDIO}.evil.example", "null"):
            asked = await client.options("/threads", headers={"Origin": origin, **preflight})
            read = await client.post("/threads/search", json={}, headers={"Origin": origin})
            for answer in (asked, read):
                assert "access-control-allow-origin" not in answer.headers, origin
    async with get_client(url=address) as client_of_server:
        thread = (await client_of_server.threads.create())["thread_id"]
        await say(client_of_server, thread, "ana", "I live in Lisbon.")
    kept = tmp_path / ".langgraph_api"
    for _ in range(600):
        if kept.exists() and any(each.is_file() for each in kept.rglob("*")):
            break
        await asyncio.sleep(0.1)
    files = [each for each in kept.rglob("*") if each.is_file()]
    assert files
    assert {each.name: oct(each.stat().st_mode & 0o077) for each in files} == {each.name: "0o0" for each in files}


async def consent(client: LangGraphClient, thread: str) -> None:
    """The run has stopped with a question; what resumes it is the answer, and the profile has the value from then
    on."""
    (task,) = [one for one in (await client.threads.get_state(thread))["tasks"] if one["interrupts"]]
    (asked,) = task["interrupts"][0]["value"]["consent"]
    assert asked["question"] == 'May I use "Ana" as your name everywhere? (yes/no)'
    await client.runs.wait(thread, "supervisor", command={"resume": "yes"}, context={"user": "ana"})
    assert not (await client.threads.get_state(thread))["next"]
    state = await say(client, thread, "ana", "Good morning.")
    assert state["stable"].splitlines()[0] == "- preferred_name: Ana"


async def travel(client: LangGraphClient) -> None:
    """A replay and a new message at an earlier checkpoint, as Studio asks for them: memory as it was, unless asked not
    to."""
    thread, other = [(await client.threads.create())["thread_id"] for _ in range(2)]
    await say(client, thread, "eve", "I live in Lisbon.")
    asked = await say(client, thread, "eve", "Which city do I live in?")
    await say(client, other, "eve", "I moved to Porto.")
    assert "Porto" in (await say(client, thread, "eve", "Which city is my home?"))["messages"][-1]["content"]
    past = [one for one in await client.threads.get_history(thread, limit=50) if one["next"] == ["context"]][1]
    for text, memory, city in (
        (None, "then", "Lisbon"),
        ("Where do I live?", "then", "Lisbon"),
        (None, "now", "Porto"),
    ):
        await client.runs.wait(
            thread,
            "supervisor",
            input=said(text) if text else None,
            checkpoint_id=past["checkpoint"]["checkpoint_id"],
            context={"user": "eve", "memory": memory},
        )
        state = (await client.threads.get_state(thread))["values"]
        assert isinstance(state, dict)
        assert city in state["stable"] + str(state["bullets"])
        assert (state["as_of"] == state["rev"] == asked["rev"]) is (memory == "then")


async def night(client: LangGraphClient) -> None:
    """The consolidation is served beside the supervisor, with its steps and its form."""
    (found,) = await client.assistants.search(graph_id="consolidation")
    schemas = await client.assistants.get_schemas(found["assistant_id"])
    assert set((schemas["input_schema"] or {})["properties"]) == {"user", "tenant", "limit", "dry_run"}
    steps = [
        name
        async for event in client.runs.stream(None, "consolidation", input={"user": "eve"}, stream_mode="updates")
        for name in event.data or {}
        if event.event == "updates"
    ]
    assert (steps[0], steps[-1]) == ("begin", "end")


async def cut_short(client: LangGraphClient) -> None:
    """Whose a thread is stands beside its first checkpoint, before any step; deleted there, its checkpoints are
    gone."""
    thread = (await client.threads.create())["thread_id"]
    await client.runs.wait(
        thread, "supervisor", input=said("Hello."), context={"user": "ana"}, interrupt_before=["context"]
    )
    (first,) = (await client.threads.get_history(thread))[-1:]
    assert (first["metadata"] or {})["space"] == str(Scope(owner="ana").space)
    assert "space" not in first["values"]
    await client.threads.delete(thread)
    with psycopg.connect(os.environ["MUNIMENT_DATABASE_URL"]) as admin:
        left = admin.execute("select count(*) from checkpoints.checkpoints where thread_id = %s", (thread,)).fetchone()
    assert left == (0,)


async def refused(client: LangGraphClient, thread: str) -> None:
    """A stranger's run and one without a user or with a wrong context are refused in words, and leave the thread as it
    was; what a run itself raises is told in words, too."""
    before = await client.threads.get_history(thread), await client.threads.get(thread)
    contexts: tuple[tuple[dict[str, Any], str], ...] = (
        ({"user": "bob"}, "belongs to another user"),
        ({"usr": "ana"}, "unknown key 'usr'"),
        ({}, "user is missing"),
        ({"user": " "}, "user is empty"),
        ({"user": "ana", "memory": "later"}, "'then' or 'now'"),
    )
    for context, words in contexts:
        with pytest.raises(httpx.HTTPStatusError) as error:
            await client.runs.wait(thread, "supervisor", input=said("Hello."), context=context)
        assert words in error.value.response.text
    commands: tuple[Command, ...] = ({"update": {"space": "mine"}}, {"update": [("space", "mine")]})
    for command in commands:
        with pytest.raises(httpx.HTTPStatusError) as error:
            await client.runs.wait(thread, "supervisor", command=command, context={"user": "ana"})
        assert "cannot be written" in error.value.response.text
    for node in ("context", "hotpath", "episodic"):
        with pytest.raises(APIStatusError, match="owner of a thread cannot be written"):
            await client.threads.update_state(thread, {"space": "mine"}, as_node=node)
    assert (await client.threads.get_history(thread), await client.threads.get(thread)) == before
    copy: Any = await client.http.post(f"/threads/{thread}/copy", json=None)
    owner = {"space": str(Scope(owner="ana").space)}
    await client.threads.update_state(copy["thread_id"], owner | {"told_offline": True}, as_node="context")
    again: Any = await client.http.post(f"/threads/{copy['thread_id']}/copy", json=None)
    values: Any = (await client.threads.get_state(again["thread_id"]))["values"]
    assert values["space"] == owner["space"]
    missing = "1f0a0000-0000-6000-8000-000000000000"
    told = await client.runs.wait(
        thread, "supervisor", input=said("Hi."), context={"user": "ana"}, checkpoint_id=missing, raise_error=False
    )
    assert "no checkpoint of this id" in json.dumps(told)


async def tell(client: LangGraphClient) -> None:
    a, b, c = [(await client.threads.create())["thread_id"] for _ in range(3)]
    first = await say(client, a, "ana", STORY)
    assert len(first["written"]) == 3
    assert [request["field"] for request in first["waiting"]] == ["preferred_name"]
    await consent(client, a)
    told = await say(client, b, "ana", "Good morning.")
    assert 2 <= len(told["header"].splitlines()) <= 4
    assert "Ana" in told["header"]
    again = await say(client, b, "ana", "Which marathon am I training for?")
    assert again["header"] == ""
    assert "Lisbon" in again["reply"] == again["messages"][-1]["content"]
    assert again["revision"] == again["rev"]
    stranger = await say(client, c, "bob", "Which marathon am I training for?")
    assert (stranger["header"], stranger["bullets"], stranger["stable"]) == ("", [], "")
    (assistant,) = await client.assistants.search(graph_id="supervisor")
    assert "long-term memory" in str(assistant["description"])
    schemas = await client.assistants.get_schemas(assistant["assistant_id"])
    assert set((schemas["input_schema"] or {})["properties"]) == {"messages"}
    shown = (schemas["output_schema"] or {})["properties"]
    assert set(shown) == {"messages", "reply", "revision", "header", "written", "waiting"}
    described = [*shown.values(), *(schemas["context_schema"] or {})["properties"].values()]
    assert all(field["description"] for field in described)
    assert {"user", "tenant", "thread", "project", "app", "memory"} == set(
        (schemas["context_schema"] or {})["properties"]
    )
    assert "now - memory as it is" in json.dumps(schemas["context_schema"])
    await travel(client)
    await night(client)
    await refused(client, b)
    await cut_short(client)
