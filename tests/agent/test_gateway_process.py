"""The agent against the real gateway process: what one session told is known in the next, by its scopes."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client

from muniment.agent.gateway_reference import LABEL, REFERENCE_RULE
from muniment.memory.domain.scope import Scope
from muniment.testing import ScriptedOpenAI
from tests.agent.talk import open_agent, read_messages
from tests.gateway.test_process import make_user
from tests.graph.serving import served
from tests.http.conftest import PROGRAM, Serving, make_environment
from tests.wire import Wire

TOLD = "My deploy region is eu-west-3."
ASKED = "Which deploy region is mine?"


@pytest.fixture
def gateway(database_url: str, tmp_path: Path) -> Iterator[Serving]:
    """`muniment gateway` without a worker."""
    environment = make_environment(database_url, tmp_path / "gateway")
    serving = Serving(environment, tmp_path / "log", ("--no-worker",), command="gateway")
    serving.tenant = "default"
    try:
        yield serving
    finally:
        if hasattr(serving, "process") and serving.process.poll() is None:
            serving.process.kill()
            serving.process.wait()


def find_references(model: ScriptedOpenAI) -> list[str]:
    """The reference messages of the last request, all of which stand before the history."""
    messages = read_messages(model)
    assert LABEL not in "".join(str(message["content"]) for message in messages[2:])
    return [message["content"] for message in messages[1:2] if message["content"].startswith(LABEL)]


@pytest.mark.timeout(180)
async def test_from_one_session_to_the_next(gateway: Serving, database_url: str, tmp_path: Path) -> None:
    """With all of the user's memory another session knows it; with the default scopes the same chat alone does."""
    key = make_user(gateway.environment)
    gateway.start()
    block: dict[str, Any] = {"baseUrl": gateway.url, "userId": "ana", "userKey": key, "timeoutSeconds": 30}
    wide = {"mode": "hybrid", "gateway": block | {"scope": ["all_user_memory"]}}
    usual = {"mode": "hybrid", "gateway": block}
    with ScriptedOpenAI(reply="Noted.") as model:
        async with open_agent(database_url, tmp_path, model, wide, user="ana") as agent:
            await agent.say("Hello.", session="monday")
            await agent.say(TOLD, session="monday")
            await agent.say(ASKED, session="tuesday")
        (reference,) = find_references(model)
        assert "eu-west-3" in reference
        system = read_messages(model)[0]["content"]
        async with open_agent(database_url, tmp_path, model, usual, user="ana") as agent:
            await agent.say(ASKED, session="wednesday")
            assert find_references(model) == []
            await agent.say(ASKED, session="monday")
            assert "eu-west-3" in find_references(model)[0]
            assert read_messages(model)[0]["content"] == system
        async with open_agent(database_url, tmp_path, model, {"mode": "curated"}, user="ana") as agent:
            await agent.say(ASKED, session="thursday")
    assert f"{read_messages(model)[0]['content']}\n\n{REFERENCE_RULE}" == system
    assert json.dumps(read_messages(model)).count("eu-west-3") == 0
    assert gateway.stop() == 0
    assert key not in gateway.log


def write_config(folder: Path, gateway: Serving, key: str, model: ScriptedOpenAI, *scope: str) -> str:
    """The file of an agent, with these scopes, or else with the usual ones."""
    block = {"baseUrl": gateway.url, "userId": "ana", "userKey": key, "timeoutSeconds": 30}
    section = {"mode": "hybrid", "gateway": block | ({"scope": list(scope)} if scope else {})}
    content = {
        "user": "ana",
        "curatedFolder": "curated",
        "memory": section,
        "model": {"name": "tiny-1", "baseUrl": model.base_url},
    }
    path = folder / f"agent-{'-'.join(scope) or 'usual'}.json"
    path.write_text(json.dumps(content))
    return str(path)


def run_program(gateway: Serving, *command: str, said: str = "") -> str:
    """What the program prints, which ends well and says nothing of a key."""
    environment = gateway.environment | {"OPENAI_API_KEY": "none"}
    done = subprocess.run(
        [PROGRAM, *command], env=environment, input=said, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.timeout(300)
def test_through_the_program(gateway: Serving, tmp_path: Path) -> None:
    """`muniment agent` finds what another session told, in the same chat with the default scopes, and in a document."""
    key = make_user(gateway.environment)
    gateway.start()
    (tmp_path / "relay.md").write_text("# Relay\n\nThe relay restarts with `make relay-up`.\n")
    run_program(gateway, "gateway", "resource", "add", str(tmp_path / "relay.md"), "--user", "ana")
    with ScriptedOpenAI(reply="Noted.") as model:
        wide = write_config(tmp_path, gateway, key, model, "all_user_memory")
        usual = write_config(tmp_path, gateway, key, model)

        def ask(config: str, session: str, text: str) -> str:
            printed = run_program(gateway, "agent", "--config", config, "--session", session, said=f"{text}\n")
            assert key not in printed
            return "".join(find_references(model))

        assert "eu-west-3" not in ask(wide, "monday", TOLD)
        assert "eu-west-3" in ask(wide, "tuesday", ASKED)
        assert "eu-west-3" not in ask(usual, "wednesday", ASKED)
        assert "eu-west-3" in ask(usual, "monday", ASKED)
        assert "relay-up" in ask(usual, "thursday", "How does the relay restart?")
        assert "resource:relay.md" in find_references(model)[0]
    shown = run_program(gateway, "sessions", "show", "agent:tuesday", "--user", "ana", "--audit", "--json")
    assert "memory_gateway_flush_succeeded" in shown
    assert key not in shown


@pytest.mark.timeout(300)
def test_through_the_server_of_studio(gateway: Serving, database_url: str, tmp_path: Path) -> None:
    """On LangGraph's server the next thread knows it, too: one reference before the prompt, and the rule."""
    key = make_user(gateway.environment)
    gateway.start()

    async def say(address: str, text: str) -> None:
        async with get_client(url=address) as client:
            thread = (await client.threads.create())["thread_id"]
            given: Any = {"messages": [{"role": "user", "content": text}]}
            await client.runs.wait(thread, "hybrid", input=given, context={"user": "ana"})

    with ScriptedOpenAI(reply="Noted.") as model:
        environment = {
            "MUNIMENT_DEVELOPMENT": "1",
            "MUNIMENT_AGENT_CONFIG": write_config(tmp_path, gateway, key, model, "all_user_memory"),
        }
        with served(database_url, tmp_path, **environment) as address:
            for text in (TOLD, ASKED):
                asyncio.run(say(address, text))
        system, reference, prompt = (message["content"] for message in read_messages(model))
    assert system.endswith(REFERENCE_RULE)
    assert reference.startswith(LABEL)
    assert "eu-west-3" in reference
    assert prompt == ASKED


@pytest.mark.timeout(180)
async def test_the_database_of_the_gateway_is_away(gateway: Serving, database_url: str, tmp_path: Path) -> None:
    """The answer is as ever, the failures are events, and each request is sent once; then it goes on by itself."""
    key = await asyncio.to_thread(make_user, gateway.environment)
    with Wire(gateway.environment["MUNIMENT_DATABASE_URL"]) as wire, ScriptedOpenAI(reply="Noted.") as model:
        (tmp_path / "quick.yaml").write_text("database: {silent_seconds: 2}\nserve: {timeout_seconds: 3}\n")
        gateway.environment |= {"MUNIMENT_DATABASE_URL": wire.url, "MUNIMENT_CONFIG": str(tmp_path / "quick.yaml")}
        await asyncio.to_thread(gateway.start)
        block = {"baseUrl": gateway.url, "userId": "ana", "userKey": key, "timeoutSeconds": 30}
        section = {"mode": "hybrid", "gateway": block}
        async with open_agent(database_url, tmp_path, model, section, user="ana") as agent:
            await asyncio.to_thread(wire.stall)
            state = await agent.say(TOLD, session="monday")
            assert state["reply"] == "Noted."
            turns = (await agent.memory.sessions.get(Scope(owner="ana"), "agent:monday")).turns
            events = {turn.text: turn.payload for turn in turns if turn.kind == "audit"}
            assert list(events) == ["memory_gateway_recall_failed", "memory_gateway_add_failed"]
            assert {payload["status"] for payload in events.values() if payload} == {503}
            assert [gateway.log.count(f"POST /memories/{path}:") for path in ("search", "add", "flush")] == [1, 1, 0]
            await asyncio.to_thread(wire.heal)
            await agent.say(TOLD, session="monday")
            await agent.say(ASKED, session="monday")
    assert "eu-west-3" in find_references(model)[0]
    assert key not in gateway.log
