"""The sessions of an agent: what is recorded, found and shown, and that nothing is learned from them."""

from __future__ import annotations

import json
import logging
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from muniment.agent.transcript import APP, PREFIX, SEARCH_TOOL
from muniment.graph.checkpointer import open_thread_saver
from muniment.memory.domain.layers.session import SessionRequest
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.testing import ScriptedOpenAI, tool_call
from muniment.testing.fakes import FixedClock, ScriptedChat
from tests.agent.talk import KEY, gateway_section, open_agent, read_messages
from tests.canaries import find_hits
from tests.engine import NOON, engine, said, settings
from tests.gateways import RecordingGateway

ME = Scope(owner="me")
TOLD = (
    "My name is Ana and I live in Porto.",
    "Remember that I am allergic to peanuts.",
    "I love sailing.",
    "I work at a bank.",
    "My sister is Anna.",
    "I play the violin.",
    "I have a dog.",
    "I hate rain.",
    "Remember how we did that.",
)
RECALLED = "CANARY_RECALLED: the deploy region is eu-west-3."


async def test_times_rise_though_the_clock_stands(database_url: str, tmp_path: Path) -> None:
    """Each prompt and each answer is later than the message before, in whole milliseconds."""
    with RecordingGateway() as gateway, ScriptedOpenAI() as model:
        section = gateway_section(gateway.base_url)
        async with (
            engine(database_url, clock=FixedClock(NOON)) as memory,
            open_agent(database_url, tmp_path, model, section, engine=memory) as agent,
        ):
            for text in ("One.", "Two."):
                await agent.say(text)
            turns = [turn for turn in await agent.read_turns() if turn.kind == "transcript"]
    stamps = [
        message["timestamp"]
        for request in gateway.requests
        if "messages" in request.body
        for message in request.body["messages"]
    ]
    assert stamps == [int(NOON.timestamp() * 1000) + n for n in range(4)]
    assert [turn.at for turn in turns] == [NOON + timedelta(milliseconds=n) for n in range(4)]


async def test_nothing_is_learned_from_an_agents_sessions(database_url: str, tmp_path: Path) -> None:
    """What a person says to the agent makes no memory: not by the rules, a model, an end, a catch-up or maintenance."""
    reader = ScriptedChat([])
    with ScriptedOpenAI() as model:
        async with (
            engine(database_url, clock=(clock := FixedClock(NOON)), model=reader) as memory,
            open_agent(database_url, tmp_path, model, {"mode": "curated"}, engine=memory) as agent,
        ):
            for text in TOLD:
                await agent.say(text)
            assert await memory.jobs.count_jobs() == {}
            ended = await memory.sessions.end(ME, f"{PREFIX}a")
            assert ended.built_to == ended.turns
            assert await memory.jobs.enqueue_missed() == 0
            clock.advance(3600)
            await memory.jobs.enqueue_idle()
            assert await memory.list(ME) == []
            assert reader.calls == []
            # A message that is none of the agent's is learned from, in the same space.
            await memory.conversation.record(ME, [said("I live in Lisbon.")])
            assert await memory.jobs.enqueue_missed() == 1


async def test_session_search_finds_the_agents_own_sessions(database_url: str, tmp_path: Path) -> None:
    """By words, Chinese included, over all sessions of the agent; never a chat, another user, an event, or itself."""
    with ScriptedOpenAI(reply="Noted.") as model:
        async with (
            engine(database_url) as memory,
            open_agent(database_url, tmp_path, model, {"mode": "curated"}, engine=memory) as agent,
        ):
            await agent.say("The zeppelin is moored in Hangar 7.", session="one")
            await agent.say("我的猫叫小黑，它喜欢吃鱼。", session="two")
            await memory.conversation.record(ME, [said("A zeppelin of a chat.")])
            other = Scope(owner="bob", app=APP, session=f"{PREFIX}one")
            await memory.conversation.record(other, [said("A zeppelin of bob.", thread=f"{PREFIX}one")])
            for query, word in (("zeppelin", "Hangar 7"), ("小黑", "猫")):
                model._reply = [tool_call(SEARCH_TOOL, {"query": query, "limit": 5}), "Found."]
                model._chats = 0
                await agent.say(f"What was said of {query}?", session=f"three {query}")
                result = read_messages(model)[-1]["content"]
                assert word in result
                assert "What was said of" not in result
                assert "chat" not in result
                assert "bob" not in result
                assert "Hangar" not in result or query == "zeppelin"
            kept = [turn.text for turn in await agent.read_turns("three 小黑") if turn.kind == "tool"]
    assert len(kept) == 1
    assert "found" in kept[0]
    assert "猫" not in kept[0]  # the ledger has it already


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "query"),
        ({"query": " "}, "query"),
        ({"query": 7}, "query"),
        ({"query": "a", "limit": 0}, "limit"),
        ({"query": "a", "limit": 21}, "limit"),
        ({"query": "a", "limit": True}, "limit"),
        ({"query": "a", "user": "bob"}, "user"),
        ({"query": "a", "session": 3}, "session"),
    ],
)
async def test_session_search_says_what_is_wrong(
    database_url: str, tmp_path: Path, arguments: dict[str, object], problem: str
) -> None:
    """The model reads which argument is wrong and what is allowed, and goes on."""
    with ScriptedOpenAI(reply=[tool_call(SEARCH_TOOL, arguments), "Well."]) as model:
        async with open_agent(database_url, tmp_path, model, {"mode": "curated"}) as agent:
            state = await agent.say("Search.")
    result = read_messages(model)[-1]["content"]
    assert result.startswith("Error: ")
    assert problem in result
    assert str(state["messages"][-1].text) == "Well."


async def test_the_key_and_the_reference_are_in_no_row_and_no_log(
    database_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Logs at DEBUG, the whole database with events and checkpoints, the model's requests: no key, and no reference
    outside of the model's requests."""
    caplog.set_level(logging.DEBUG)
    chosen = settings(database_url)
    with RecordingGateway([{"text": RECALLED}]) as gateway, ScriptedOpenAI(reply="Fine.") as model:
        section = gateway_section(gateway.base_url)
        async with (
            open_thread_saver(chosen) as saver,
            open_agent(database_url, tmp_path, model, section, saver=saver) as agent,
        ):
            await agent.say("Which region?")
            state = await agent.graph.aget_state({"configurable": {"thread_id": "a"}})
            assert KEY not in repr(state)
            assert RECALLED not in repr(state)
            assert KEY not in repr(agent.runtime.host)
    assert RECALLED in json.dumps(model.requests[0].body)
    assert KEY not in json.dumps([request.body for request in model.requests])
    assert KEY not in caplog.text
    for word in (KEY, "CANARY_RECALLED"):
        assert find_hits(database_url, word) == frozenset()


async def test_sessions_are_listed_and_shown(database_url: str, tmp_path: Path) -> None:
    """They are sessions of the ledger of an application of their own; tool calls are of the kind tool."""
    entry = {"target": "memory", "action": "add", "content": "Releases are signed."}
    with ScriptedOpenAI(reply=[tool_call("memory", entry), "Kept."]) as model:
        async with open_agent(database_url, tmp_path, model, {"mode": "curated"}) as agent:
            await agent.say("Note that.", session="work")
            page = await agent.memory.sessions.list(ME, SessionRequest(app=APP))
            turns = await agent.read_turns("work")
            found = await agent.memory.query(ME, "supervisor", Query(text="releases"))
    assert [session.id for session in page.sessions] == [f"{PREFIX}work"]
    assert [(turn.role, turn.kind) for turn in turns] == [
        ("user", "transcript"),
        ("tool", "tool"),
        ("assistant", "transcript"),
    ]
    assert found.hits == ()


async def test_a_secret_in_a_prompt_is_in_no_row(database_url: str, tmp_path: Path) -> None:
    """The ledger and the thread have the prompt without it; the model, too."""
    secret = "sk-proj-" + "a1B2" * 12
    with ScriptedOpenAI() as model:
        chosen = settings(database_url)
        async with (
            open_thread_saver(chosen) as saver,
            open_agent(database_url, tmp_path, model, {"mode": "curated"}, saver=saver) as agent,
        ):
            await agent.say(f"My key is {secret}, keep it.")
    assert find_hits(database_url, secret) == frozenset()
    assert secret not in json.dumps(model.requests[0].body)


def test_the_database_takes_the_kind(database_url: str) -> None:
    """The constraint of kinds has the new one and no other."""
    with psycopg.connect(database_url) as conn:
        row = conn.execute(
            "select pg_get_constraintdef(oid) from pg_constraint where conname = 'turns_kind'"
        ).fetchone()
    assert row is not None
    assert "transcript" in row[0]
