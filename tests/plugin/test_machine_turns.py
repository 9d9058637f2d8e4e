"""What nobody has typed: a turn of a machine is answered and its tools are learned from, and its words are nobody's."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from openai import AsyncOpenAI

from muniment.chain.chat_loop import ChatLoop
from muniment.chain.host import Host
from muniment.chain.values import Identity, Message, TurnContext
from muniment.memory.domain.scope import Scope
from muniment.nodes.chain.messages import convert_messages
from muniment.plugin.opening import open_plugin
from muniment.plugin.replay.comparison import compare_policies
from muniment.plugin.replay.recording import parse_recording
from muniment.testing import ScriptedOpenAI
from tests import engine
from tests.plugin.hosts import DAY, make_settings, open_session

ORDER = "From now on use pnpm, conventional commits, short answers."
SAID = ("The job of the billing part has ended.", ORDER, "Never deploy on a Friday.", "我们以后都用 pnpm。")


@pytest.mark.parametrize("text", SAID)
async def test_the_words_of_a_machine_are_no_item(tmp_path: Path, text: str) -> None:
    """P-58..P-61: they are refused, and counted; the same from a person afterwards is kept."""
    async with open_session(make_settings(tmp_path)) as session:
        await session.say(text, is_machine=True)
        assert await session.list_items() == []
        report = await session.read_report()
        assert (report.recall_reason, report.refusals) == ("machine turn", {"machine turn": 1})
        await session.say(ORDER)
        assert len(await session.list_items()) == 3


async def test_a_machine_ends_and_forgets_nothing(tmp_path: Path) -> None:
    """What was to do is done, and what was said is forgotten, by words of its person alone."""
    async with open_session(make_settings(tmp_path), project="shop") as session:
        await session.say("We have to write the migration by Friday.")
        await session.say("Use pnpm.")
        kept = await session.list_items()
        assert len(kept) == 2
        for text in ("The migration is done.", "Forget that I use pnpm.", "Use npm instead of pnpm."):
            await session.say(text, is_machine=True)
        assert await session.list_items() == kept


async def test_a_fix_of_a_machine_turn_is_kept(tmp_path: Path) -> None:
    """P-60: its tools have shown it; it is found by what that turn was about, and the person's goal stays theirs."""
    tools: Any = (
        ("shell", {"command": "pytest tests/api"}, "ImportError: no module named httpx\nexit code 1", True),
        ("shell", {"command": "uv sync --all-extras"}, "Installed 40 packages\nexit code 0", False),
        ("shell", {"command": "pytest tests/api"}, "12 passed\nexit code 0", False),
    )
    async with open_session(make_settings(tmp_path), project="shop") as session:
        await session.say("Fix the checkout page, please.")
        await session.say("Fix the nightly build of the parser.", is_machine=True, tools=tools)
        (fix,) = await session.list_items()
        assert (fix.type, "uv sync --all-extras" in fix.content) == ("fix", True)
        assert "parser" in fix.keywords
        await session.say("We decided to use Redis for it.")
        decision = (await session.list_items())[-1]
        assert "checkout" in decision.keywords
        assert "parser" not in decision.keywords


async def test_what_leaves_of_a_machine_is_nobodys(tmp_path: Path) -> None:
    """P-49: of the messages that leave a thread only those of the person are written."""
    typed = Message(role="user", text="I prefer short answers.", id="1", at=DAY)
    sent = Message(role="user", text="Never deploy on a Friday.", id="2", at=DAY, is_machine=True)
    async with open_session(make_settings(tmp_path)) as session:
        context = TurnContext(turn_id="3", identity=session.identity, messages=(typed, sent), at=DAY)
        assert await session.host.compact(context, (typed, sent))
        session.at += timedelta(minutes=1)
        assert [item.content for item in await session.list_items()] == ["The user prefers short answers"]


async def test_what_leaves_for_an_engine_is_no_turn_of_the_user(database_url: str) -> None:
    """P-49: the ledger has it, and nothing is built of it."""
    typed = Message(role="user", text="I am allergic to walnuts.", id="1", at=DAY)
    sent = Message(role="user", text="I am allergic to cheese.", id="2", at=DAY, is_machine=True)
    async with engine.engine(database_url) as memory:
        found = memory.engine.settings
        plugin = found.plugin.model_copy(update={"enabled": True, "store": "engine", "recall_seconds": 20.0})
        settings = found.model_copy(update={"plugin": plugin})
        async with open_plugin(settings, memory=memory) as opened, Host([opened], before_seconds=30) as host:
            identity = Identity(user="ana", session="one")
            context = TurnContext(turn_id="3", identity=identity, messages=(typed, sent), at=DAY)
            assert await host.compact(context, (typed, sent))
        session = await memory.sessions.get(Scope(owner="ana"), "one")
        assert [turn.role for turn in session.turns] == ["user", "system"]
        assert [each.text for each in await memory.list(Scope(owner="ana"))] == ["The user is allergic to walnuts"]


async def test_a_loop_knows_later_who_has_typed(tmp_path: Path) -> None:
    """A message of the plain loop keeps it until it leaves; the same words of a person are written by then."""
    with ScriptedOpenAI("All right.") as server:
        async with (
            AsyncOpenAI(base_url=server.base_url, api_key="none") as client,
            open_plugin(make_settings(tmp_path)) as plugin,
            Host([plugin], before_seconds=30) as host,
        ):
            identity = Identity(user="ana", session="one")
            loop = ChatLoop(host=host, client=client, model="scripted", identity=identity, now=lambda: DAY)
            await loop.send_text("Never deploy on a Friday.", is_machine=True)
            await loop.send_text("I prefer short answers.")
            assert [message.is_machine for message in loop.messages] == [True, False, False, False]
            assert await loop.compact_messages(0)
            assert plugin.store is not None
            body = json.dumps(server.requests[-1].body)
        async with open_session(make_settings(tmp_path)) as session:
            assert [item.content for item in await session.list_items()] == ["The user prefers short answers"]
    assert "is_machine" not in body


def test_a_message_of_langchain_says_who_has_typed() -> None:
    """By the field that makes its turn one of a machine."""
    typed, sent = HumanMessage("Hi"), HumanMessage("Ended.", additional_kwargs={"is_machine": True})
    assert [message.is_machine for message in convert_messages([typed, sent])] == [False, True]


async def test_a_recording_says_who_has_typed(tmp_path: Path) -> None:
    """P-104: a policy is tried on a machine's turn as a host would run it."""
    lines = [
        json.dumps(
            {"session": "one", "role": "user", "text": ORDER, "at": f"2026-11-10T09:0{n}:00Z", "is_machine": n < 1}
        )
        for n in range(2)
    ]
    (outcome,) = await compare_policies(make_settings(tmp_path), parse_recording(lines), ["default"])
    assert [turn.report.written for turn in outcome.turns] == [0, 3]
    assert outcome.turns[0].report.refusals == {"machine turn": 1}
