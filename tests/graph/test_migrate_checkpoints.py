"""Threads of another saver in ours: nothing lost, nothing invented, and said when something is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver, PersistentDict
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import _messages_delta_reducer
from langgraph.types import Command, Send, interrupt
from typing_extensions import TypedDict

from muniment.graph import saver_files
from muniment.graph.checkpointer import open_saver
from muniment.graph.migration import MigrationResult, migrate_threads
from muniment.graph.saver import PooledSaver
from muniment.graph.supervisor import build
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.errors import BadInput, CopyDiffers
from muniment.nodes.state import Who
from tests.graph.conftest import Talk

KEY = "sk-proj-" + "Ab3" * 16


@pytest.fixture
async def target(database_url: str) -> AsyncIterator[PooledSaver]:
    async with open_saver(database_url) as opened:
        yield opened


def at(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


class State(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=5)]
    seen: list[str]
    note: str


async def fan(_: State) -> Command[Any]:
    return Command(goto=[Send("work", {"number": number}) for number in range(12)])


async def work(state: dict[str, int]) -> dict[str, Any]:
    return {"messages": [HumanMessage(f"work {state['number']}")]}


async def ask(_: State) -> dict[str, Any]:
    return {"note": interrupt("which?"), "seen": ["asked"]}


def graph(saver: Any) -> Any:
    """Twelve tasks side by side that write one delta channel, then a question."""
    made: Any = StateGraph(State)
    made.add_node("fan", fan, destinations=("work",))
    made.add_node("work", work)
    made.add_node("ask", ask)
    made.add_edge(START, "fan")
    made.add_edge("work", "ask")
    return made.compile(checkpointer=saver)


async def fill(saver: Any) -> None:
    for thread in ("a", "b"):
        await graph(saver).ainvoke({"messages": [HumanMessage(f"first of {thread}")], "note": "n"}, at(thread))
        if thread == "a":
            await graph(saver).ainvoke(Command(resume="this"), at(thread))
            await graph(saver).ainvoke({"messages": [HumanMessage("second")]}, at(thread))


async def history(saver: Any, thread: str) -> list[Any]:
    return [
        (one.values, one.next, one.config, one.parent_config, one.interrupts, one.metadata)
        async for one in graph(saver).aget_state_history(at(thread))
    ]


@pytest.fixture(params=["memory", "postgres"])
async def source(request: pytest.FixtureRequest, empty_database_url: str) -> AsyncIterator[Any]:
    """LangGraph's own savers, with two threads."""
    if request.param == "memory":
        made = InMemorySaver()
        await fill(made)
        yield made
        return
    async with AsyncPostgresSaver.from_conn_string(empty_database_url) as official:
        await official.setup()
        await fill(official)
        yield official


async def test_every_checkpoint_is_as_it_was(source: Any, target: PooledSaver) -> None:
    """Values, parents, questions, the order of what ran side by side; both go on alike, and again there is nothing to
    do."""
    told: list[int] = []
    copied = await migrate_threads(source, target, told.append)
    assert (copied.threads, copied.there, copied.checkpoints) == (2, 0, len(told))
    for thread in ("a", "b"):
        assert await history(target, thread) == await history(source, thread)
        ends = [await graph(saver).ainvoke(Command(resume="that"), at(thread)) for saver in (source, target)]
        assert ends[0] == ends[1]
        assert ends[1]["note"] == "that"
    again = await migrate_threads(target, target)
    assert (again.checkpoints, again.writes) == (0, 0)


async def test_an_interrupted_copy_is_finished(target: PooledSaver) -> None:
    """Stopped between a checkpoint and what was written from it, it goes on there; a thread that has gone on is left
    alone."""
    source = InMemorySaver()
    await fill(source)
    del source.storage["a"][""][min(source.storage["a"][""])]
    total = len([one async for one in source.alist(None)])

    class Broken(PooledSaver):
        left = 4

        async def aput_writes(self, *given: Any, **more: Any) -> None:
            Broken.left -= 1
            if Broken.left < 0:
                raise KeyboardInterrupt
            await super().aput_writes(*given, **more)

    with pytest.raises(KeyboardInterrupt):
        await _apart(migrate_threads(source, Broken(target._pool, lambda text: text)))
    rest = await migrate_threads(source, target)
    assert 0 < rest.there < total
    assert await history(target, "b") == await history(source, "b")
    await graph(target).ainvoke(Command(resume="that"), at("b"))
    assert await migrate_threads(source, target) == MigrationResult(threads=2, there=total)


async def _apart(work: Any) -> Any:
    """In this task, where a KeyboardInterrupt is only an exception."""
    return await work


async def test_what_differs_is_named(target: PooledSaver) -> None:
    """A target that loses a value, and one that has something else under the same id: thread, checkpoint, channel; no
    text."""
    source = InMemorySaver()
    await fill(source)

    class Careless(InMemorySaver):
        async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
            kept: Any = {name: one for name, one in checkpoint["channel_values"].items() if name != "seen"}
            poorer: Any = {**checkpoint, "channel_values": kept}
            return await super().aput(config, poorer, metadata, new_versions)

    with pytest.raises(CopyDiffers, match="of thread a does not read as in the source: seen differ") as lost:
        await migrate_threads(source, Careless())
    assert lost.value.data["differing"] == ["seen"]
    await migrate_threads(source, target)
    async with target.cursor() as cursor:
        await cursor.execute("""update checkpoints set checkpoint = jsonb_set(checkpoint, '{channel_values,note}',
          '"other"')
                                where checkpoint -> 'channel_values' ? 'note'""")
    with pytest.raises(CopyDiffers, match="note differ"):
        await migrate_threads(source, target)
    assert "other" in str((await graph(target).aget_state(at("a"))).values)


async def test_the_supervisors_threads_without_their_secrets(
    memory: Memory, settings: Settings, target: PooledSaver
) -> None:
    """What our own graph kept in memory goes on in the database; a key that was said is not brought along."""
    source = InMemorySaver()
    here = Talk(memory, settings, build(memory, None, settings).compile(checkpointer=source))
    await here.say("I live in Lisbon.")
    await here.say(f"My key is {KEY}, keep it.")
    await migrate_threads(source, target)
    there = Talk(memory, settings, build(memory, None, settings).compile(checkpointer=target))
    state = (await there.graph.aget_state(there.config("a"))).values
    assert len(state["messages"]) == 4
    assert any(KEY.encode() in data for _, data in source.blobs.values())
    async with target.cursor() as cursor:
        await cursor.execute("select blob from checkpoint_blobs union all select blob from checkpoint_writes")
        assert not any(KEY.encode() in (row["blob"] or b"") for row in await cursor.fetchall())
    again = await there.graph.ainvoke(
        {"messages": [HumanMessage("Which city do I live in?")]}, there.config("a"), context=Who(user="ana")
    )
    assert len(again["messages"]) == 6


async def test_the_development_servers_files(tmp_path: Path, target: PooledSaver) -> None:
    """Its three files, written as it writes them."""
    folder, numbers = tmp_path / saver_files.FOLDER, count(1)
    folder.mkdir()

    def factory(*given: Any) -> PersistentDict:
        return PersistentDict(*given, filename=str(folder / f".langgraph_checkpoint.{next(numbers)}.pckl"))

    with InMemorySaver(factory=factory) as source:  # type: ignore[arg-type]
        await fill(source)
        expected = await history(source, "a")
    for path in (tmp_path, folder, folder / ".langgraph_checkpoint.2.pckl"):
        read = await asyncio.to_thread(saver_files.load_saver, path)
        assert await history(read, "a") == expected
    await migrate_threads(read, target)
    assert await history(target, "a") == expected


class Plan:
    def __init__(self, text: str) -> None:
        self.text = text

    def model_dump(self) -> dict[str, str]:
        return {"text": self.text}


async def test_a_class_of_ones_own_has_to_be_allowed(tmp_path: Path) -> None:
    """Refused by its name: LangGraph's reader would go on with its parts, and something would be lost unseen."""
    source = InMemorySaver()

    class Own(TypedDict):
        plan: Any

    async def node(_: Own) -> dict[str, Any]:
        return {"plan": Plan("x")}

    made: Any = StateGraph(Own)
    made.add_node("node", node)
    made.add_edge(START, "node")
    await made.compile(checkpointer=source).ainvoke({"plan": None}, at("a"))
    read = InMemorySaver(serde=saver_files._RestrictedSerializer(()))
    read.storage, read.writes, read.blobs = source.storage, source.writes, source.blobs
    with pytest.raises(BadInput, match=f"not let in: {Plan.__module__}.Plan"):
        await migrate_threads(read, InMemorySaver())
    read.serde = saver_files._RestrictedSerializer((f"{Plan.__module__}.Plan",))
    found = [one async for one in read.alist(at("a"), limit=1)]
    assert found[0].checkpoint["channel_values"]["plan"].text == "x"


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "is no pickle"), (b"\x80\x04]\x94.", "holds no dict"), (b"\x80\x04}\x94.", "is no saver")],
)
async def test_other_files_are_refused(tmp_path: Path, content: bytes, said: str) -> None:
    """With the file's name."""
    path = tmp_path / "it"
    await asyncio.to_thread(path.write_bytes, content)
    with pytest.raises(BadInput, match=f"it: {said}"):
        await asyncio.to_thread(saver_files.load_saver, path)
    with pytest.raises(BadInput, match=r"has no \.langgraph_checkpoint\.1\.pckl"):
        await asyncio.to_thread(saver_files.load_saver, tmp_path)
