"""The janitor of the checkpoints: what goes, what stays readable, and that no run is broken by it."""

from __future__ import annotations

import asyncio
import operator
import random
from collections.abc import AsyncIterator, Callable
from hashlib import md5
from typing import Annotated, Any

import psycopg
import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from muniment.graph import checkpointer as checkpoints, janitor, tables
from muniment.graph.checkpointer import checkpointer, open_saver
from muniment.graph.janitor import (
    PruneResult,
    delete_threads,
    list_space_threads,
    measure_threads,
    prune_if_due,
    prune_threads,
)
from muniment.graph.saver import PooledSaver
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import Conflict, NoCheckpoint
from muniment.nodes.state import Input, Who
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
    freed = await prune_threads(saver, keep=5)
    after = await history(graph, "a")
    assert [one.values for one in after] == [one.values for one in before[:5]]
    assert after[-1].parent_config is None
    assert all(one.values["once"] == ["from the first run"] for one in after)
    assert (freed.threads, freed.checkpoints) == (1, len(before) - 5)
    assert freed.bytes > 0
    assert freed.writes > 0
    assert await prune_threads(saver, keep=5) == PruneResult()
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
    said = await prune_threads(saver, keep=3, dry=True)
    assert await rows(saver) == had
    assert said == await prune_threads(saver, keep=3)
    assert (await rows(saver))["checkpoints"] == 6


async def test_threads_of_an_owner_are_found_and_deleted(talk: Callable[..., Talk], saver: PooledSaver) -> None:
    """By the space that the supervisor notes; other owners' threads stay."""
    here = talk(None, saver)
    for user, thread in (("ana", "a"), ("ana", "b"), ("bo", "c")):
        await here.say("I live in Lisbon.", thread=thread, user=user)
    ana, bo = (Scope(owner=name, tenant=here.settings.tenant).space for name in ("ana", "bo"))
    assert await list_space_threads(saver, ana) == ["a", "b"]
    gone = await delete_threads(saver, await list_space_threads(saver, ana))
    assert set(gone) == {"checkpoints", "checkpoint_blobs", "checkpoint_writes"}
    assert min(gone.values()) > 0
    assert (await list_space_threads(saver, ana), await list_space_threads(saver, bo)) == ([], ["c"])
    assert not (await here.graph.aget_state(here.config("a"))).values


MANY = """
insert into checkpoints.checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, metadata)
select 't' || n % 500, '', lpad(n::text, 9, '0'), jsonb_build_object('channel_values',
  jsonb_build_object('space', md5((n % 500)::text), 'text', repeat(md5(n::text), 20))), '{}'
from generate_series(1, 5000) n"""


async def test_a_space_is_found_by_an_index(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its threads and their sizes, without a look at the others'. Nobody's start waits for it while somebody looks for
    long, and one whose making was interrupted is made anew."""
    monkeypatch.setattr(checkpoints, "_PATIENCE_SECONDS", 0.1)
    async with open_saver(database_url):
        pass
    with psycopg.connect(database_url) as dump, psycopg.connect(database_url, autocommit=True) as admin:
        admin.execute("drop index checkpoints.checkpoints_space_idx")
        dump.execute("set transaction isolation level repeatable read")
        dump.execute("select count(*) from pg_catalog.pg_class")
        async with open_saver(database_url):
            admin.execute(MANY)
        left = admin.execute("""
            select indisvalid from pg_index
            where indexrelid = 'checkpoints.checkpoints_space_idx'::regclass""").fetchall()
        assert left == [(False,)]
    async with open_saver(database_url) as saver, saver.cursor() as cursor:
        await cursor.execute("vacuum analyze checkpoints")
        asked = {"space": md5(b"7").hexdigest(), "limit": 5}
        for statement in (tables.SPACE_THREADS, tables.SPACE_THREAD_SIZES):
            await cursor.execute(f"explain {statement}", asked)
            plan = "\n".join(row["QUERY PLAN"] for row in await cursor.fetchall())
            assert "checkpoints_space_idx" in plan
            assert "Seq Scan on checkpoints" not in plan
        await cursor.execute(tables.SPACE_THREADS, asked)
        assert await cursor.fetchall() == [{"thread_id": "t7"}]


async def test_an_interrupt_is_answered_after_it(saver: PooledSaver) -> None:
    """What a thread waits for is of its newest checkpoint, and stays, though everything else goes."""
    graph = adder(saver, asks=True)
    await graph.ainvoke(Sum(total=0), at("a"))
    assert (await prune_threads(saver, keep=1)).checkpoints == 2
    waiting = await graph.aget_state(at("a"))
    assert [one.value for one in waiting.interrupts] == ["how much?"]
    assert await graph.ainvoke(Command(resume=5), at("a")) == {"total": 6, "once": ["from the first run"]}


async def test_the_supervisor_goes_on(talk: Callable[..., Talk], saver: PooledSaver) -> None:
    """The next turn knows the conversation, a fork and a replay from what is kept work, one from what is gone is
    refused."""
    here = talk(None, saver)
    for number in range(6):
        await here.say(f"I own {number} bikes.")
    points = await history(here.graph, "a")
    gone = points[-1].config
    await prune_threads(saver, keep=12)
    ends = [one for one in await history(here.graph, "a") if not one.next]
    assert len((await here.say("I own a boat."))["messages"]) == 14
    fork = await here.graph.ainvoke(
        Input(messages=[HumanMessage("I own a car.")]), ends[1].config, context=Who(user="ana")
    )
    assert [one.text for one in fork["messages"][-4::2]] == ["I own 4 bikes.", "I own a car."]
    before = next(one for one in await history(here.graph, "a") if one.next == ("context",))
    again = await here.graph.ainvoke(None, before.config, context=Who(user="ana"))
    assert again["messages"][-2].text == before.values["messages"][-1].text
    had = await rows(saver)
    for said in (None, Input(messages=[HumanMessage("I own a car.")])):
        with pytest.raises(NoCheckpoint, match="old ones are pruned"):
            await here.graph.ainvoke(said, gone, context=Who(user="ana"))
    with pytest.raises(NoCheckpoint, match="old ones are pruned"):
        await here.graph.aupdate_state(gone, {"untold": 0}, as_node="episodic")
    assert await rows(saver) == had
    assert not (await here.graph.aget_state(gone)).values


async def test_runs_go_on_beside_it(database_url: str) -> None:
    """Eight threads speak while two janitors prune to one checkpoint, again and again: no turn and no value is lost."""
    async with open_saver(database_url) as one, open_saver(database_url) as other:
        talking = True

        async def sweep(saver: PooledSaver) -> int:
            removed = 0
            while talking:
                try:
                    removed += (await prune_threads(saver, keep=1)).checkpoints
                except Conflict:
                    await asyncio.sleep(0.005)
            return removed

        sweepers = [asyncio.create_task(sweep(saver)) for saver in (one, other)]
        modes = ("sync", "async", "exit", "sync", "async", "exit", "sync", "async")

        async def speak(number: int) -> None:
            graph = adder(one, pause=0.002)
            for _ in range(6):
                await graph.ainvoke(Sum(total=0), at(str(number)), durability=modes[number])

        await asyncio.gather(*(speak(number) for number in range(8)))
        talking = False
        assert sum(await asyncio.gather(*sweepers)) > 8
        for number in range(8):
            state = await adder(one).aget_state(at(str(number)))
            assert state.values == {"total": 12, "once": ["from the first run"]}
            assert state.next == ()


async def test_a_run_from_a_checkpoint_that_goes_meanwhile(saver: PooledSaver) -> None:
    """It keeps all its values, also those that it did not write itself."""
    await adder(saver).ainvoke(Sum(total=0), at("a"))
    start = (await history(adder(saver), "a"))[1]
    await adder(saver).ainvoke(Sum(total=0), at("a"))
    await adder(saver).aupdate_state(at("a"), Sum(once=["something else"]))
    running = asyncio.create_task(adder(saver, pause=0.3).ainvoke(Sum(total=10), start.config, durability="exit"))
    await asyncio.sleep(0.1)
    await prune_threads(saver, keep=1)
    await running
    state = await adder(saver).aget_state(at("a"))
    assert state.values == {"total": 13, "once": ["from the first run"]}


async def test_threads_nobody_touches_go_as_a_whole(saver: PooledSaver, settings: Settings) -> None:
    """Rows of all tables; a thread that was touched stays, and without a limit all do."""
    graph = adder(saver)
    await graph.ainvoke(Sum(total=0), at("old"))
    async with saver.cursor() as cursor:
        await cursor.execute(
            """update checkpoints set checkpoint = checkpoint || '{"ts": "2026-01-02T00:00:00+00:00"}'"""
        )
    await graph.ainvoke(Sum(total=0), at("new"))
    assert await prune_threads(saver, keep=100) == PruneResult()
    freed = await prune_threads(saver, keep=100, days=30)
    assert (freed.threads, freed.whole) == (1, 1)
    assert [one.thread for one in (await measure_threads(saver, 9)).largest] == ["new"]
    async with saver.cursor() as cursor:
        await cursor.execute(
            "select distinct thread_id from checkpoint_blobs union select thread_id from checkpoint_writes"
        )
        assert await cursor.fetchall() == [{"thread_id": "new"}]


async def test_one_janitor_at_a_time_and_once_in_an_interval(saver: PooledSaver, settings: Settings) -> None:
    """The second is told, the one that comes by itself lets it be."""
    await adder(saver).ainvoke(Sum(total=0), at("a"))
    async with saver.cursor() as cursor, cursor.connection.transaction():
        await cursor.execute(tables.TRY_LOCK, (janitor._LOCK,))
        with pytest.raises(Conflict):
            await prune_threads(saver, keep=1)
        assert await prune_if_due(saver, settings) is None
    assert [one is None for one in await asyncio.gather(*(prune_if_due(saver, settings) for _ in range(4)))].count(
        False
    ) == 1
    assert await prune_if_due(saver, settings) is None
    soon = settings.model_copy(
        update={"session_ledger": settings.session_ledger.model_copy(update={"cleanup_interval_seconds": 0.000001})}
    )
    assert await prune_if_due(saver, soon) is not None


async def test_the_server_has_a_janitor(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes by itself, by the settings."""
    async with open_saver(database_url) as saver:
        for _ in range(12):
            await adder(saver).ainvoke(Sum(total=0), at("a"))
        had = (await rows(saver))["checkpoints"]
    monkeypatch.setenv("MUNIMENT_DATABASE_URL", database_url)
    async with checkpointer() as served:
        async with asyncio.timeout(10):
            while (await rows(served))["checkpoints"] == had:
                await asyncio.sleep(0.02)
        assert (await rows(served))["checkpoints"] == 16


async def test_thirty_turns_take_little(talk: Callable[..., Talk], saver: PooledSaver) -> None:
    """18 kB of text that hardly compress: less than 0.3 MB after the janitor, as 60 kB in 100 turns have to take
    1 MB."""
    here, chance = talk(None, saver), random.Random(7)
    for _ in range(30):
        words = ("".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(120))
        await here.say(" ".join(words)[:600])
    had = (await measure_threads(saver, 1)).bytes
    await prune_threads(saver, keep=here.settings.checkpoints.keep)
    (left,) = (await measure_threads(saver, 1)).largest
    assert left.bytes < 300_000 < had
