"""The janitor of the checkpoints: what goes, what stays readable, and that no run is broken by it."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from muniment.graph.checkpointer import PooledSaver, open_saver
from muniment.graph.janitor import Freed, delete_threads, prune, threads_of
from muniment.memory.records import Scope
from tests.graph.conftest import Talk


@pytest.fixture
async def saver(database_url: str) -> AsyncIterator[PooledSaver]:
    async with open_saver(database_url) as opened:
        yield opened


def at(thread: str, checkpoint: str | None = None) -> Any:
    return {"configurable": {"thread_id": thread, **({"checkpoint_id": checkpoint} if checkpoint else {})}}


async def history(graph: Any, thread: str) -> list[Any]:
    return [one async for one in graph.aget_state_history(at(thread))]


async def rows(saver: PooledSaver) -> dict[str, int]:
    found = {}
    async with saver.cursor() as cursor:
        for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
            await cursor.execute(f"select count(*) as n from {table}")
            row = await cursor.fetchone()
            found[table] = row["n"] if row else 0
    return found


class Sum(TypedDict, total=False):
    """Adds up; `once` is written by the first run only, so that later checkpoints share its blob."""

    total: Annotated[int, operator.add]
    once: list[str]


def adder(saver: Any, *, pause: float = 0, asks: bool = False) -> Any:
    async def first(state: Sum) -> Sum:
        await asyncio.sleep(pause)
        return Sum(total=1) if "once" in state else Sum(total=1, once=["from the first run"])

    async def second(_: Sum) -> Sum:
        if asks:
            return Sum(total=interrupt("how much?"))
        return Sum(total=1)

    graph: Any = StateGraph(Sum)
    graph.add_node("first", first)
    graph.add_node("second", second)
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    return graph.compile(checkpointer=saver)


async def test_the_newest_stay_with_all_that_they_need(saver: PooledSaver) -> None:
    """What is kept reads as before, what nothing refers to is gone, and there is nothing left to do."""
    graph = adder(saver)
    for _ in range(6):
        await graph.ainvoke(Sum(total=0), at("a"))
    before = await history(graph, "a")
    freed = await prune(saver, keep=5)
    after = await history(graph, "a")
    assert [one.values for one in after] == [one.values for one in before[:5]]
    assert after[-1].parent_config is None
    assert all(one.values["once"] == ["from the first run"] for one in after)
    assert (freed.threads, freed.checkpoints) == (1, len(before) - 5)
    assert freed.bytes > 0
    assert freed.writes > 0
    assert await prune(saver, keep=5) == Freed()
    orphans = """select count(*) as n from checkpoint_writes left join checkpoints c
      using (thread_id, checkpoint_ns, checkpoint_id) where c.checkpoint is null"""
    async with saver.cursor() as cursor:
        await cursor.execute(orphans)
        assert await cursor.fetchone() == {"n": 0}
    assert (await graph.ainvoke(Sum(total=0), at("a")))["total"] == 14


async def test_a_dry_round_counts_the_same_and_removes_nothing(saver: PooledSaver) -> None:
    """What it says would go is what goes then."""
    graph = adder(saver)
    for thread in ("a", "b"):
        for _ in range(4):
            await graph.ainvoke(Sum(total=0), at(thread))
    had = await rows(saver)
    said = await prune(saver, keep=3, dry=True)
    assert await rows(saver) == had
    assert said == await prune(saver, keep=3)
    assert (await rows(saver))["checkpoints"] == 6


async def test_threads_of_an_owner_are_found_and_deleted(talk: Callable[..., Talk], saver: PooledSaver) -> None:
    """By the space that the supervisor notes; other owners' threads stay."""
    here = talk(None, saver)
    for user, thread in (("ana", "a"), ("ana", "b"), ("bo", "c")):
        await here.say("I live in Lisbon.", thread=thread, user=user)
    ana, bo = (Scope(owner=name, tenant=here.settings.tenant).space for name in ("ana", "bo"))
    assert await threads_of(saver, ana) == ["a", "b"]
    gone = await delete_threads(saver, await threads_of(saver, ana))
    assert set(gone) == {"checkpoints", "checkpoint_blobs", "checkpoint_writes"}
    assert min(gone.values()) > 0
    assert (await threads_of(saver, ana), await threads_of(saver, bo)) == ([], ["c"])
    assert not (await here.graph.aget_state(here.config("a"))).values
