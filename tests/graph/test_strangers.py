"""Somebody else in an owner's thread: refused before anything of the run is saved or shown, whatever way it comes
in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import psycopg
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from muniment.graph.checkpointer import open_saver
from muniment.graph.consolidation import build as consolidation
from muniment.graph.saver import PooledSaver
from muniment.graph.supervisor import build
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, Denied, MunimentError
from muniment.nodes.state import Input, Who
from tests.engine import note
from tests.graph.conftest import Talk
from tests.graph.test_past import QUESTION, knows, saver as unguarded

__all__ = ["unguarded"]  # without the tenant of whoever names none, and LangGraph's own: there the nodes refuse
BO = Who(user="bo")
SAID = Input(messages=[HumanMessage("I live in Faro.")])
TAKEN: Command[str] = Command(update={"space": str(Scope(owner="bo").space)}, goto="supervisor")
WAYS: dict[str, tuple[Any, Any, dict[str, Any], type[MunimentError]]] = {  # input, context, configurable, error
    "says": (SAID, BO, {}, Denied),
    "says without a name": (SAID, None, {}, Denied),
    "says as the owner, logged in as another": (SAID, Who(user="ana"), {"langgraph_auth_user_id": "bo"}, Denied),
    "says, logged in": (SAID, None, {"langgraph_auth_user_id": "bo"}, Denied),
    "says as nobody": (SAID, Who(user=" "), {}, BadInput),
    "goes on": (None, BO, {}, Denied),
    "answers": (Command(resume="yes"), BO, {}, Denied),
    "takes over": (TAKEN, BO, {}, Denied),
}


@pytest.fixture
async def saver(database_url: str, settings: Settings) -> AsyncIterator[PooledSaver]:
    """Ours, which knows the tenant of whoever names none."""
    async with open_saver(database_url, tenant=settings.tenant) as opened:
        yield opened


@pytest.fixture
async def here(memory: Memory, settings: Settings, saver: PooledSaver) -> Talk:
    """Whose profile asks before it changes: the thread waits for an answer."""
    talk = Talk(memory, settings, build(memory, None, settings, interrupts=True).compile(checkpointer=saver))
    await talk.say("I own a bike.")
    await talk.say("Call me Ana.")
    assert (await talk.graph.aget_state(talk.config("a"))).next == ("consent",)
    return talk


def saved(url: str) -> list[Any]:
    """All that the saver has."""
    with psycopg.connect(url) as conn:
        return [
            conn.execute(f"select * from checkpoints.{table} t order by t::text").fetchall()
            for table in ("checkpoints", "checkpoint_writes", "checkpoint_blobs")
        ]


@pytest.mark.parametrize("past", [False, True])
async def test_nothing_is_saved_or_shown(here: Talk, database_url: str, *, past: bool) -> None:
    """From the thread's end and from before its first turn: the owner finds the thread as it was left, and goes on."""
    end = here.config("a")
    first = [one async for one in here.graph.aget_state_history(end)][-1]
    place = (first.config if past else end)["configurable"]
    before = saved(database_url)
    for way, (given, context, configurable, error) in WAYS.items():
        run = here.graph.astream(
            given, {"configurable": {**place, **configurable}}, context=context, stream_mode="values"
        )
        with pytest.raises(error) as refused:
            await anext(run)
        assert refused.value.data == {}  # the space is the owner's
        assert saved(database_url) == before, way
    await here.graph.ainvoke(None, end, context=Who(user="ana"))
    assert (await here.graph.aget_state(end)).next == ("consent",)
    state = await here.say(QUESTION)
    said = [str(one.text) for one in state["messages"] if one.type == "human"]
    assert said == ["I own a bike.", "Call me Ana.", QUESTION]
    (asked,) = await here.memory.list_consents(Scope(owner="ana", tenant=here.settings.tenant))
    assert (asked.field, asked.decision) == ("preferred_name", "pending")


async def test_a_first_turn_that_was_cut_short(here: Talk, database_url: str) -> None:
    """Its words stay for whoever said them."""
    said = Input(messages=[HumanMessage("I have a dog called Rex.")])
    await here.graph.ainvoke(said, here.config("b"), context=Who(user="ana"), interrupt_before=["context"])
    before = saved(database_url)
    with pytest.raises(Denied):
        await here.say("Good morning.", thread="b", user="bo")
    assert saved(database_url) == before
    state = await here.say("Good evening.", thread="b")
    assert len([one for one in state["messages"] if one.type == "human"]) == 2
    assert "Rex" in str(state["writes"])


async def test_other_graphs_have_their_own_rules(memory: Memory, settings: Settings, saver: PooledSaver) -> None:
    """The user of a consolidation is in its input, whoever has begun it: who goes on with it is no stranger. Nor is one
    of several who talk in a thread of somebody's own graph."""
    graph = consolidation(memory, settings).compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "night"}}
    await graph.ainvoke(
        {"user": "ana"}, config, context=Who(user="one"), interrupt_before=["survey"], durability="sync"
    )
    state = await graph.ainvoke(None, config, context=Who(user="two"))
    assert state["space"] == str(Scope(owner="ana", tenant=settings.tenant).space)
    assert state["told"]
    config = {"configurable": {"thread_id": "several"}}
    talked = StateGraph(MessagesState, context_schema=Who)
    talked.add_node("echo", lambda state: {"messages": [AIMessage(str(state["messages"][-1].text))]})
    both = talked.add_edge(START, "echo").compile(checkpointer=saver)
    for user in ("ana", "bo"):
        state = await both.ainvoke({"messages": [HumanMessage(user)]}, config, context=Who(user=user))
    assert [str(one.text) for one in state["messages"]] == ["ana", "ana", "bo", "bo"]


async def test_no_update_writes_the_owner(memory: Memory, settings: Settings, saver: PooledSaver) -> None:
    """Neither in the owner's thread nor in one that has none yet; the same owner, as Studio's fork sends it, is no
    change, and a thread with such an update can be copied, also when what was before it has been pruned."""
    graph: Any = build(memory, None, settings).compile(checkpointer=saver)
    thread: Any = {"configurable": {"thread_id": "one"}}
    await graph.ainvoke({"messages": [("user", "Good morning.")]}, thread, context=Who(user="ana"))
    owner = (await graph.aget_state(thread)).values["space"]
    for place in (thread, {"configurable": {"thread_id": "new"}}):
        for node in ("context", "episodic"):
            with pytest.raises(Denied, match="cannot be written"):
                await graph.aupdate_state(place, {"space": str(Scope(owner="bo").space)}, as_node=node)
    await graph.aupdate_state(thread, {"space": owner, "told_offline": True}, as_node="context")
    assert (await graph.aget_state(thread)).values["space"] == owner
    (newest,) = [one async for one in saver.alist(thread, limit=1)]
    for parent in (newest.parent_config, None):  # with what was before, and without
        ids = {"checkpoint_id": parent["configurable"]["checkpoint_id"]} if parent else {}
        copy: Any = {"configurable": {"thread_id": f"copy {len(ids)}", "checkpoint_ns": ""}}
        if parent:
            before = await saver.aget_tuple(parent)
            assert before is not None
            await saver.aput(copy, before.checkpoint, before.metadata, before.checkpoint["channel_versions"])
        after: Any = {"configurable": copy["configurable"] | ids}
        await saver.aput(after, newest.checkpoint, newest.metadata, newest.checkpoint["channel_versions"])
        assert (await graph.aget_state(copy)).values["space"] == owner


@pytest.mark.parametrize("stop", ["apply", None])
async def test_a_consolidation_of_somebody_else(
    memory: Memory, settings: Settings, saver: PooledSaver, database_url: str, stop: str | None
) -> None:
    """Who is logged in gets nothing of the pairs and saves nothing, from its end and from before its first step, in
    whatever way; the owner goes on with it, and so does whoever runs it without a login."""
    ana = Scope(owner="ana", tenant=settings.tenant)
    await memory.ingest(ana, [note(f"The user waters the tomatoes{dot}") for dot in ("", ".")])
    graph = consolidation(memory, settings).compile(checkpointer=saver)
    end: Any = {"configurable": {"thread_id": "night"}}
    state = await graph.ainvoke({"user": "ana"}, end, interrupt_before=[stop] if stop else None)
    assert "tomatoes" in str(state["shown"])
    first = [one async for one in graph.aget_state_history(end)][-1]
    ways: tuple[Any, ...] = ({}, {"user": "bo"}, {"user": "ana"}, None, Command(resume="yes"), TAKEN)
    before = saved(database_url)
    for place in (end["configurable"], first.config["configurable"]):
        for given in ways:
            for mode in ("values", "updates", "tasks", "checkpoints", "debug"):
                bo: Any = {"configurable": place | {"langgraph_auth_user_id": "bo"}}
                with pytest.raises(Denied) as refused:
                    await anext(graph.astream(given, bo, stream_mode=mode))
                assert refused.value.data == {}
    assert saved(database_url) == before
    for configurable, context in (({"langgraph_auth_user_id": "ana"}, None), ({}, Who(user="two"))):
        state = await graph.ainvoke(
            None if stop else {"user": "ana"}, {"configurable": end["configurable"] | configurable}, context=context
        )
        assert state["space"] == str(ana.space)
        assert state["run"]["status"] == "done"


@pytest.mark.parametrize("way", ["says as the owner, logged in as another", "says as nobody"])
async def test_what_nobody_valid_has_said(talk: Callable[..., Talk], way: str) -> None:
    """With any saver, it is gone from the thread before the owner's next turn could learn it."""
    (given, context, configurable, error), here = WAYS[way], talk()
    for thread, first in (("new", False), ("a", True)):
        if first:
            await here.say("Good morning!", thread=thread)
        with pytest.raises(error):
            await here.graph.ainvoke(given, here.config(thread, **configurable), context=context)
        state = await here.say("Hello.", thread=thread)
        assert "Faro" not in str(state["messages"])
        assert state["writes"] == []


@pytest.mark.parametrize("node", ["__start__", "context"])
@pytest.mark.parametrize("named", [True, False])
async def test_the_first_checkpoint_of_a_thread_is_its_owners(
    talk: Callable[..., Talk], unguarded: BaseCheckpointSaver[Any], node: str, *, named: bool
) -> None:
    """From before anybody was read, a stranger's run is refused as any other: nothing is learned, the thread goes
    on."""
    here = talk(None, unguarded)
    await here.say("I live in Lisbon.")
    past = [one async for one in here.graph.aget_state_history(here.config("a"))]
    config = next(one for one in past if one.next == (node,)).config
    if not named:
        await here.graph.aupdate_state(config, {"messages": [HumanMessage("I live in Faro.")]}, as_node="__start__")
        config = here.config("a")
    with pytest.raises(Denied):
        await here.graph.ainvoke(None, config, context=Who(user="bo"))
    assert await here.memory.list(Scope(owner="bo", tenant=here.settings.tenant)) == []
    assert knows(await here.say(QUESTION)) == {"Lisbon"}


@pytest.mark.parametrize("node", ["supervisor", "episodic"])
async def test_a_turn_that_has_begun_is_its_owners(
    talk: Callable[..., Talk], unguarded: BaseCheckpointSaver[Any], node: str
) -> None:
    """A stranger who goes on with it from wherever is refused: neither the message nor the reply becomes the
    stranger's."""
    here = talk(None, unguarded)
    await here.say("I live in Lisbon.")
    past = [one async for one in here.graph.aget_state_history(here.config("a"))]
    at = next(one for one in past if node in one.next)
    with pytest.raises(Denied):
        await here.graph.ainvoke(None, at.config, context=Who(user="bo"))
    assert list(await here.memory.export(Scope(owner="bo", tenant=here.settings.tenant))) == []
