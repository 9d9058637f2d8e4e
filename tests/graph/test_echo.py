"""What memory said is no evidence, through the whole graph: recalled, repeated in a reply, and not learned from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from muniment.graph.supervisor import build
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.ports.llm import ChatAnswer, ChatMessage, Tool, ToolCall
from muniment.testing.fakes import FixedClock, ScriptedChat
from tests.answers import fact
from tests.engine import statement
from tests.graph.conftest import Talk

KNOWN = "The user trains for the Lisbon marathon in October"
ECHO = "In October the user trains for the marathon of Lisbon"
REPLY = "As for October: it is the Lisbon marathon that you train for, and tea is what you should drink."


def query(messages: Sequence[ChatMessage]) -> ChatMessage | str:
    """Looks in memory once, then replies."""
    if any(one.role == "tool" for one in messages):
        return REPLY
    call = ToolCall(id="1", name="memory_query", arguments={"query": "marathon Lisbon October"})
    return ChatMessage(role="assistant", content="", tool_calls=(call,))


def brain(tool: bool, cites: Callable[[dict[str, Any]], list[int]]) -> ScriptedChat:
    """Repeats what it recalls, and claims to have learned it from the turns that `cites` names."""

    def said(messages: Sequence[ChatMessage], tools: Sequence[Tool]) -> ChatMessage | ChatAnswer | str:
        if not messages[0].content.startswith("You read a conversation"):
            return query(messages) if tool else REPLY
        asked = json.loads(messages[1].content)
        made = fact(ECHO, kind="goal", predicate="trains_for", object="marathon of Lisbon", category="goals")
        return json.dumps({"facts": [made | {"turns": cites(asked)}]})

    return ScriptedChat(said)


def all_turns(asked: dict[str, Any]) -> list[int]:
    return [one["turn"] for one in asked["conversation"]]


async def told(memory: Memory, settings: Settings, model: ScriptedChat, text: str, *, thread: str = "a") -> Receipt:
    """One turn in the graph, and the model's look at it afterwards."""
    await Talk(memory, settings, build(memory, model, settings).compile()).say(text, thread=thread)
    who = Scope(owner="ana", tenant=settings.tenant)
    turns = [one for one in await memory.export(who) if one["type"] == "turn" and one["text"] == text]
    return await memory.jobs.extract(who, TurnId(turns[-1]["turn_id"]))


@pytest.mark.parametrize("tool", [False, True])
async def test_a_reply_that_repeats_memory_teaches_nothing(settings: Settings, clock: FixedClock, tool: bool) -> None:
    """Put before the model by the context or found by its tool: what the reply repeats of it is refused."""
    model = brain(tool, all_turns)
    quiet = settings.recall.model_copy(update={"context_bullets": 0} if tool else {})
    tuned = settings.model_copy(update={"recall": quiet})
    async with bootstrap.create_memory(tuned, embedder=HashEmbedder(), clock=clock, model=model) as memory:
        who = Scope(owner="ana", tenant=settings.tenant)
        (kept,) = (await memory.keep_candidates(who, [statement(KNOWN, "goals", value="marathon")])).changes
        if tool:  # nothing of it comes from the context, not even as news
            await memory.conversation.mark_seen(replace(who, thread="a"), kept.after.rev)
        assert (await memory.query(who, "supervisor", Query(text="marathon"))).hits
        receipt = await told(memory, tuned, model, "I wonder what to drink in October, at that Lisbon thing.")
        assert (receipt.changes, receipt.refused) == ((), ("recalled",))
        assert [one.text for one in await memory.list(who)] == [KNOWN]
        assert (await memory.get(who, kept.after.id)).rev == kept.after.rev


async def test_a_person_who_says_it_again_is_believed(settings: Settings, clock: FixedClock) -> None:
    """The same recall and the same reply, and yet the words are the person's."""
    model = brain(False, lambda asked: asked["extract_from"])
    async with bootstrap.create_memory(settings, embedder=HashEmbedder(), clock=clock, model=model) as memory:
        who = Scope(owner="ana", tenant=settings.tenant)
        await memory.keep_candidates(who, [replace(statement(KNOWN, "goals", value="marathon"), trust="agent")])
        receipt = await told(memory, settings, model, "For October, the marathon of Lisbon is what we train for here.")
        assert "recalled" not in receipt.refused
        assert [one.after.trust for one in receipt.changes] == ["user"]
