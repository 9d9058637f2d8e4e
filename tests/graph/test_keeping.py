"""What a checkpoint needs to be read stays with it: the ancestors of a delta channel, the calls of subgraphs."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Annotated, Any

import pytest
from hypothesis import given, strategies as st
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.graph.message import _messages_delta_reducer
from typing_extensions import TypedDict

from muniment.graph.janitor import prune_threads
from muniment.graph.retention import CheckpointRow, select_retained
from muniment.graph.saver import PooledSaver
from tests.graph.test_janitor import Sum, at, history, saver

__all__ = ["saver"]


class Chat(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=7)]
    calls: int


def delta(saver: Any) -> Any:
    async def reply(state: Chat) -> dict[str, Any]:
        return {"messages": [HumanMessage(f"reply {len(state['messages'])}")], "calls": 1}

    graph: Any = StateGraph(Chat)
    graph.add_node("reply", reply)
    graph.add_edge(START, "reply")
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("turns", range(3, 12))
async def test_a_delta_channel_is_readable_wherever_it_is_cut(saver: PooledSaver, turns: int) -> None:
    """Ancestors stay back to the snapshot: every checkpoint that is left has its messages."""
    graph = delta(saver)
    for number in range(turns):
        await graph.ainvoke({"messages": [HumanMessage(f"turn {number}")]}, at("a"))
    before = {one.config["configurable"]["checkpoint_id"]: one.values for one in await history(graph, "a")}
    freed = await prune_threads(saver, keep=2)
    after = {one.config["configurable"]["checkpoint_id"]: one.values for one in await history(graph, "a")}
    assert len(after) == len(before) - freed.checkpoints <= 2 + 12
    assert list(after)[:2] == list(before)[:2]
    assert after == {id_: before[id_] for id_ in after}
    assert freed.checkpoints > 0 or turns < 6
    assert len((await graph.ainvoke({"messages": [HumanMessage("more")]}, at("a")))["messages"]) == 2 * turns + 2


async def test_calls_of_subgraphs_go_with_what_they_started_from(saver: PooledSaver) -> None:
    """Of the calls that are left one can still look into the state."""

    async def inner(state: Sum) -> Sum:
        return Sum(total=state["total"])

    sub: Any = StateGraph(Sum)
    sub.add_node("inner", inner)
    sub.add_edge(START, "inner")
    graph: Any = StateGraph(Sum)
    graph.add_node("sub", sub.compile())
    graph.add_edge(START, "sub")
    whole = graph.compile(checkpointer=saver)
    for _ in range(5):
        await whole.ainvoke(Sum(total=1), at("a"))

    async def spaces() -> int:
        async with saver.cursor() as cursor:
            await cursor.execute("select count(distinct checkpoint_ns) as n from checkpoints where checkpoint_ns <> ''")
            row = await cursor.fetchone()
            return int(row["n"]) if row else 0

    assert await spaces() == 5
    await prune_threads(saver, keep=6)
    assert await spaces() == 2
    async with saver.cursor() as cursor:
        await cursor.execute(
            "select count(*) as n from checkpoint_blobs b where not exists (select from checkpoints c "
            "where (c.thread_id, c.checkpoint_ns) = (b.thread_id, b.checkpoint_ns))"
        )
        assert await cursor.fetchone() == {"n": 0}


async def test_killed_in_the_middle_it_leaves_threads_that_read(saver: PooledSaver, database_url: str) -> None:
    """Kill -9 between two of its transactions: the next round does the rest."""
    graph = delta(saver)
    for number in range(10):
        await graph.ainvoke({"messages": [HumanMessage(f"turn {number}")]}, at("a"))
    before = {one.config["configurable"]["checkpoint_id"]: one.values for one in await history(graph, "a")}
    program = f"""
import asyncio, os, signal
from muniment.graph import janitor
from muniment.graph.checkpointer import open_saver
janitor._BATCH = 5
step = janitor._prune_batch
async def once(*given, **more):
    done = await step(*given, **more)
    if step.count == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    step.count += 1
    return done
step.count = 0
janitor._prune_batch = once
async def main():
    async with open_saver({database_url!r}) as saver:
        await janitor.prune_threads(saver, keep=2)
asyncio.run(main())
""".replace("step.count", "count[0]").replace("count[0] = 0\n", "count = [0]\n")
    run = await asyncio.create_subprocess_exec(sys.executable, "-c", program)
    assert await run.wait() == -signal.SIGKILL
    left = {one.config["configurable"]["checkpoint_id"]: one.values for one in await history(graph, "a")}
    assert len(left) == len(before) - 15
    assert left == {id_: before[id_] for id_ in left}
    assert (await prune_threads(saver, keep=2)).checkpoints > 0


async def test_whoever_saves_beside_it_is_waited_for(saver: PooledSaver) -> None:
    """A checkpoint that is saved between its look and its deed keeps the ancestors that it leans on."""
    graph = delta(saver)
    for number in range(4):
        await graph.ainvoke({"messages": [HumanMessage(f"turn {number}")]}, at("a"))
    child, parent = (await history(graph, "a"))[-3:-1]
    where = {"thread": "a", "id": "ff", "child": child.config["configurable"]["checkpoint_id"]}
    async with saver.cursor() as cursor, cursor.connection.transaction():
        hold = "select from checkpoints where (thread_id, checkpoint_ns, checkpoint_id) = (%s, '', %s) for key share"
        await cursor.execute(hold, ("a", parent.config["configurable"]["checkpoint_id"]))
        pruning = asyncio.create_task(prune_threads(saver, keep=1))
        await asyncio.sleep(0.1)
        assert not pruning.done()
        await cursor.execute(
            """insert into checkpoints
               select thread_id, checkpoint_ns, %(id)s, parent_checkpoint_id, type,
                 checkpoint || jsonb_build_object('id', %(id)s::text), metadata
               from checkpoints where thread_id = %(thread)s and checkpoint_id = %(child)s""",
            where,
        )
    assert (await pruning).checkpoints > 0
    assert (await graph.aget_state(at("a"))).values == child.values


@given(st.data())
def test_what_is_kept_can_be_read(data: st.DataObject) -> None:
    """For any tree of checkpoints: the newest stay, and with what leans on its parent the parent; no more than that."""
    count = data.draw(st.integers(1, 12))
    points = [
        CheckpointRow(
            ns="",
            id=f"{number:02}",
            leans=data.draw(st.booleans()),
            parent=f"{data.draw(st.integers(0, number - 1)):02}" if number else None,
        )
        for number in range(count)
    ]
    newest = data.draw(st.integers(1, 4))
    staying = {id_ for _, id_ in select_retained(data.draw(st.permutations(points)), newest)}
    by_id = {point.id: point for point in points}
    assert {point.id for point in points[-newest:]} <= staying
    assert all(by_id[id_].parent in staying for id_ in staying if by_id[id_].leans and by_id[id_].parent)
    needed = {point.id for point in points[-newest:]}
    for id_ in sorted(staying, reverse=True):
        assert id_ in needed
        if by_id[id_].leans:
            needed.add(by_id[id_].parent or "")
