"""Extraction by a model over real HTTP: what it adds to the rules, and what becomes of every way in which it can fail."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import SecretStr

from muniment.memory.engine import Memory
from muniment.memory.errors import NotFound
from muniment.memory.models.chat import OpenAIChat
from muniment.memory.models.scripted import Replies, ScriptedOpenAI
from muniment.memory.records import Scope, Turn, TurnId
from tests.answers import fact
from tests.engine import NOON, engine, said, scope

TOLD = "I moved to Lisbon yesterday with my wife Maria. She teaches pottery to refugees."


def facts(*some: dict[str, Any]) -> str:
    return json.dumps({"facts": list(some)}, ensure_ascii=False)


MOVED = fact(
    "The user moved to Lisbon on 3 May 2026", kind="event", predicate="moved_to", object="Lisbon", category="event"
)
SPOUSE = fact(
    "The user's wife is Maria", kind="relationship", predicate="wife", object="Maria", persons=["Maria"],
    category="relationships", single=True,
)  # fmt: skip
POTTERY = fact(
    "Maria teaches pottery to refugees", kind="relationship", predicate="teaches", object="pottery",
    subject="user's wife", persons=["Maria"], category="relationships",
)  # fmt: skip


@asynccontextmanager
async def listening(url: str, reply: Replies, **more: Any) -> AsyncIterator[tuple[Memory, ScriptedOpenAI]]:
    """An engine whose model is at a scripted server."""
    with ScriptedOpenAI(reply, **more) as server:
        model = OpenAIChat(
            "tiny-1", api_key=SecretStr("k"), base_url=server.base_url, timeout_seconds=1.0, max_retries=0
        )
        async with engine(url, model=model) as memory:
            yield memory, server


async def texts(memory: Memory, who: Scope) -> set[str]:
    return {one.text for one in await memory.list(who)}


async def recorded(memory: Memory, text: str = TOLD) -> Turn:
    """A turn in the ledger that the rules have learned from."""
    turn = said(text)
    await memory.record(scope(), [turn])
    await memory.learn(scope(), turn)
    return turn


async def test_the_model_adds_to_what_the_rules_found_and_doubles_nothing(database_url: str) -> None:
    """The same facts have the same keys from both; what only the model sees is new."""
    async with listening(database_url, facts(MOVED, SPOUSE, POTTERY)) as (memory, server):
        turn = await recorded(memory)
        before = await texts(memory, scope())
        assert len(before) == 2
        receipt = await memory.extract(scope(), turn.id)
        assert [change.after.text for change in receipt.changes] == ["Maria teaches pottery to refugees"]
        assert await texts(memory, scope()) == before | {"Maria teaches pottery to refugees"}
        again = await memory.extract(scope(), turn.id)
    assert again.replayed
    assert len(server.requests) == 1


async def test_the_model_is_asked_as_the_prompt_says(database_url: str) -> None:
    """The turn with its neighbours, its time, the categories, and the form; temperature 0."""
    async with listening(database_url, facts()) as (memory, server):
        asked = Turn.make(session="A", key="q", role="assistant", text="Who came with you?", at=NOON, thread="A")
        turn = said("My wife Maria.", key="a", at=NOON.replace(minute=1))
        later = said("Where is the station?", key="b", at=NOON.replace(minute=2))
        await memory.record(scope(), [asked, turn, later])
        await memory.extract(scope(), turn.id)
    body = server.requests[0].body
    told = json.loads(body["messages"][1]["content"])
    assert [(one["turn"], one["role"], one["text"]) for one in told["conversation"]] == [
        (1, "assistant", "Who came with you?"),
        (2, "user", "My wife Maria."),
    ]
    assert (told["said_at"], told["extract_from"]) == ("2026-05-04T12:01:00+00:00", [2])
    assert told["categories"]["relationships"] == "Relationships"
    assert body["temperature"] == 0
    assert body["response_format"]["json_schema"]["strict"] is True


async def test_a_turn_that_is_not_in_the_ledger_cannot_be_read(database_url: str) -> None:
    async with listening(database_url, facts()) as (memory, server):
        with pytest.raises(NotFound):
            await memory.extract(scope(), TurnId(said("x").id))
    assert server.requests == []
