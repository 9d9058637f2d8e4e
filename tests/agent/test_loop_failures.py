"""The loop of an agent whose gateway, model or ledger fails: the person, the files and the tool see nothing of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from muniment.agent.gateway_reference import LABEL, REFERENCE_RULE
from muniment.memory.errors import Denied, ModelError, TooLarge
from muniment.nodes.state import Who
from muniment.testing import ScriptedOpenAI, tool_call
from tests.agent.talk import KEY, gateway_section, open_agent, read_messages
from tests.gateways import ADD, FLUSH, HOSTILE, SEARCH, HostileGateway, RecordingGateway, Seen, find_closed_port

ADD_ENTRY = {"target": "user", "action": "add", "content": "The user lives in Porto."}
REPLIES: list[Any] = [tool_call("memory", ADD_ENTRY), "It is kept."]


def read_tool_results(model: ScriptedOpenAI) -> list[str]:
    return [message["content"] for message in read_messages(model) if message["role"] == "tool"]


async def run_once(database_url: str, folder: Path, memory: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What a person, the model and the files see of a run in which the model adds an entry."""
    with ScriptedOpenAI(reply=REPLIES) as model:
        async with open_agent(database_url, folder, model, memory, **more) as agent:
            state = await agent.say("I live in Porto.")
            return {
                "reply": str(state["messages"][-1].text),
                "system": read_messages(model)[0]["content"].removesuffix(f"\n\n{REFERENCE_RULE}"),
                "tool": read_tool_results(model),
                "files": agent.read_files(),
                "events": await agent.read_events(),
                "messages": read_messages(model, 0),
            }


@pytest.fixture
async def plain(database_url: str, tmp_path: Path) -> dict[str, Any]:
    """The same run in curated mode."""
    folder = tmp_path / "plain"
    folder.mkdir()
    seen = await run_once(database_url, folder, {"mode": "curated"})
    assert seen.pop("events") == []
    return seen


def drop_session(seen: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in seen.items() if name not in ("events", "messages")}


@pytest.mark.parametrize("kind", HOSTILE)
async def test_b134_a_hostile_search_changes_nothing(
    database_url: str, tmp_path: Path, plain: dict[str, Any], kind: str
) -> None:
    """Reply, snapshot, tool and files are the same bytes as in curated mode, and one hidden event says why."""
    with HostileGateway(kind, at=[SEARCH]) as gateway:
        seen = await run_once(database_url, tmp_path, gateway_section(gateway.base_url, timeoutSeconds=0.5))
    assert drop_session(seen) == drop_session(plain)
    assert gateway.paths == [SEARCH, ADD, FLUSH]
    (name, fields), *after = seen["events"]
    if (category := HOSTILE[kind].category) is None:
        assert (name, fields["result_count"]) == ("memory_gateway_recall_succeeded", HOSTILE[kind].count)
    else:
        status = {} if HOSTILE[kind].status is None else {"status": HOSTILE[kind].status}
        assert (name, fields) == (
            "memory_gateway_recall_failed",
            {"operation": "search", "category": category, **status},
        )
        assert LABEL not in json.dumps(seen["messages"][1:])
    assert [event for event, _ in after] == ["memory_gateway_add_succeeded", "memory_gateway_flush_succeeded"]
    assert KEY not in repr(seen)


@pytest.mark.parametrize("kind", ["unauthorized", "broken", "silent", "hung up", "repeats the key"])
@pytest.mark.parametrize("path", [ADD, FLUSH])
async def test_b134_a_failed_add_or_flush_changes_nothing(
    database_url: str, tmp_path: Path, plain: dict[str, Any], path: str, kind: str
) -> None:
    """After a failed add there is no flush; after a failed flush the event says that the add was well."""
    with HostileGateway(kind, at=[path]) as gateway:
        seen = await run_once(database_url, tmp_path, gateway_section(gateway.base_url, timeoutSeconds=0.5))
    assert drop_session(seen) == drop_session(plain)
    names = [name for name, _ in seen["events"]]
    if path == ADD:
        assert gateway.paths == [SEARCH, ADD]
        assert names == ["memory_gateway_recall_succeeded", "memory_gateway_add_failed"]
        assert seen["events"][-1][1]["operation"] == "add"
    else:
        assert gateway.paths == [SEARCH, ADD, FLUSH]
        assert names[1:] == ["memory_gateway_add_succeeded", "memory_gateway_flush_failed"]
        assert seen["events"][-1][1] | {"add_succeeded": True} == seen["events"][-1][1]
    assert KEY not in repr(seen)


class EndingGateway(RecordingGateway):
    """A gateway that ends when it has answered an add."""

    def answer(self, handler: Any, seen: Seen) -> None:
        super().answer(handler, seen)
        if seen.path == ADD:
            handler.close_connection = True
            self.stop()


@pytest.mark.parametrize("when", ["at boot", "before recall", "between add and flush"])
async def test_a_gateway_that_stops(database_url: str, tmp_path: Path, plain: dict[str, Any], when: str) -> None:
    """Each request is sent at most once, and nobody sees an error."""
    with EndingGateway() as gateway:
        url = gateway.base_url
        if when == "at boot":
            url = f"http://127.0.0.1:{find_closed_port()}"
        elif when == "before recall":
            gateway.stop()
        seen = await run_once(database_url, tmp_path, gateway_section(url, timeoutSeconds=1))
    assert drop_session(seen) == drop_session(plain)
    assert gateway.paths == ([SEARCH, ADD] if when == "between add and flush" else [])
    failed = {"at boot": ["recall", "add"], "before recall": ["recall", "add"]}.get(when, ["flush"])
    names = [name for name, _ in seen["events"]]
    assert [name for name in names if name.endswith("failed")] == [f"memory_gateway_{each}_failed" for each in failed]


async def test_b88_a_run_that_fails_is_not_persisted(database_url: str, tmp_path: Path) -> None:
    """The model's error ends the run: the gateway was searched and gets nothing; the next run answers both prompts."""
    with RecordingGateway() as gateway, ScriptedOpenAI(reply="Good.", fail=["bad_request"]) as model:
        async with open_agent(database_url, tmp_path, model, gateway_section(gateway.base_url)) as agent:
            with pytest.raises(ModelError):
                await agent.say("First.")
            assert gateway.paths == [SEARCH]
            assert [turn.kind for turn in await agent.read_turns()] == ["transcript", "audit"]
            await agent.say("Second.")
            texts = [turn.text for turn in await agent.read_turns() if turn.kind == "transcript"]
    assert gateway.paths == [SEARCH, SEARCH, ADD, FLUSH]
    assert [message["content"] for message in read_messages(model)[1:]] == ["First.", "Second."]
    assert [message["content"] for message in gateway.requests[2].body["messages"]] == ["Second.", "Good."]
    assert texts == ["First.", "Second.", "Good."]


async def test_without_its_ledger_the_agent_goes_on(database_url: str, tmp_path: Path) -> None:
    """Where nothing can be recorded there is an answer all the same, and the gateway gets it."""
    with RecordingGateway() as gateway, ScriptedOpenAI(reply="Fine.") as model:
        async with open_agent(database_url, tmp_path, model, gateway_section(gateway.base_url)) as agent:
            with psycopg.connect(database_url, autocommit=True) as admin:
                admin.execute("alter function muniment.record_turns rename to record_turns_away")
            state = await agent.say("Hello.")
    assert str(state["messages"][-1].text) == "Fine."
    assert gateway.paths == [SEARCH, ADD, FLUSH]


async def test_others_than_the_agents_user_are_refused(database_url: str, tmp_path: Path) -> None:
    """The files and the key are of one person: a run of another reads and sends nothing."""
    with RecordingGateway() as gateway, ScriptedOpenAI() as model:
        async with open_agent(database_url, tmp_path, model, gateway_section(gateway.base_url), user="ana") as agent:
            config: Any = {"configurable": {"thread_id": "x"}}
            with pytest.raises(Denied):
                await agent.graph.ainvoke({"messages": [("user", "Hi.")]}, config, context=Who(user="bob"))
            assert (model.requests, gateway.requests) == ([], [])
            for who in (Who(user="ana"), Who()):  # who names nobody is the agent's user
                await agent.graph.ainvoke({"messages": [("user", "Hi.")]}, config, context=who)
    assert gateway.paths == [SEARCH, ADD, FLUSH] * 2


async def test_a_prompt_that_is_too_long_is_refused(database_url: str, tmp_path: Path) -> None:
    """Nothing is searched, asked or recorded."""
    with RecordingGateway() as gateway, ScriptedOpenAI() as model:
        async with open_agent(database_url, tmp_path, model, gateway_section(gateway.base_url)) as agent:
            with pytest.raises(TooLarge):
                await agent.say("a" * (agent.runtime.settings.limits.turn_chars + 1))
    assert (model.requests, gateway.requests) == ([], [])
