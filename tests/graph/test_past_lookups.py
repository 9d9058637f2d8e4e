"""From an earlier checkpoint: what a model looks up is answered as of the turn's revision."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from muniment.nodes.state import Input, Who
from muniment.testing.openai_server import ScriptedOpenAI, tool_call
from tests.graph.conftest import Talk
from tests.graph.test_model import model, prompts, scripted
from tests.graph.test_past import PAST, PRESENT, QUESTION, ana, read, replay, saver, where

__all__ = ["saver", "scripted"]
QUERY = tool_call("memory_query", {"query": "city Lisbon Porto lives", "threshold": 0})
HANDED = tool_call("transfer_to_planner", {"task": "Plan the move"})
TASKS = tool_call("memory_query", {"query": "pack boxes move", "threshold": 0})
BOXES = "The user has to pack boxes for the move"


def found(server: ScriptedOpenAI) -> list[tuple[int, list[str]]]:
    """Revision and texts of what each call of memory_query was answered with."""
    results = [one["content"] for asked in prompts(server) for one in asked if one["role"] == "tool"]
    bodies = [json.loads(text.splitlines()[2]) for text in results]
    return [(one["rev"], [hit["text"].partition("] ")[2] for hit in one["results"]]) for one in bodies]


async def test_what_a_model_looks_up_is_of_then(
    talk: Callable[..., Talk], saver: BaseCheckpointSaver[Any], scripted: Callable[..., ScriptedOpenAI]
) -> None:
    """The supervisor's and a colleague's queries in a replay are answered as of the turn's revision; so in the next
    turn."""
    script = [HANDED, TASKS, "A plan.", QUERY, "Lisbon, I think."]
    server = scripted([*script, *script, QUERY, "As I said.", *script[:3], "Nothing new."])
    async with model(server) as chat:
        here = talk(chat, saver)
        await here.memory.remember(ana(here), BOXES, category="tasks")
        await here.memory.remember(ana(here), PAST, category="event")
        asked = await here.say(QUESTION)
        for one in await here.memory.list(ana(here)):
            await here.memory.forget(ana(here), one.id)
        await here.memory.remember(ana(here), PRESENT, category="event")
        again = await replay(here, await where(here, "context", 1))
        await here.say("Are you sure?")
        now = await here.graph.ainvoke(
            Input(messages=[HumanMessage("And now?")]), here.config("a"), context=Who(user="ana", memory="now")
        )
    answers = found(server)
    assert answers[0] == (2, [BOXES])
    assert answers[1] == (2, [PAST, BOXES])
    assert answers[2:5] == [*answers[:2], answers[1]]
    assert answers[5] == (now["rev"], [])
    assert now["rev"] > 2
    assert read(again) == read(asked)


@pytest.mark.parametrize("named", [True, False])
async def test_a_replay_that_begins_after_memory_was_read(
    talk: Callable[..., Talk], saver: BaseCheckpointSaver[Any], scripted: Callable[..., ScriptedOpenAI], *, named: bool
) -> None:
    """Begun at the supervisor, by a replay or by an update, it queries what the turn had read; its next turns do as
    well."""
    server = scripted(["Lisbon.", QUERY, "Still Lisbon.", "Lisbon."])
    async with model(server) as chat:
        here = talk(chat, saver)
        await here.say("I live in Lisbon.", thread="seed")
        await here.memory.remember(ana(here), PAST, category="event")
        server.requests.clear()
        await here.say(QUESTION)
        await here.memory.remember(ana(here), PRESENT, category="event")
        past = [one async for one in here.graph.aget_state_history(here.config("a"))]
        at = next(one for one in past if "supervisor" in one.next)
        if named:
            state = await replay(here, at)
        else:
            await here.graph.aupdate_state(at.config, {"told_offline": True}, as_node="planner")
            state = await here.graph.ainvoke(None, here.config("a"), context=Who(user="ana"))
        assert state["as_of"] == at.values["rev"]
        assert [rev for rev, _ in found(server)] == [at.values["rev"]]
        assert (await here.say(QUESTION))["rev"] == at.values["rev"]
