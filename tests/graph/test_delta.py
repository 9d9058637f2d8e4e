"""The messages in a delta channel: whatever holds of a thread that is saved whole holds of it, and either goes on as
the other."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from typing import Any

import psycopg
import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.base import _build_delta_stage2_sql

from muniment.graph import supervisor
from muniment.graph.erasure import find_holding_threads
from muniment.graph.janitor import prune_threads
from muniment.graph.migration import migrate_threads
from muniment.graph.saver import PooledSaver
from muniment.graph.supervisor import build
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import NoCheckpoint, StoreError
from muniment.nodes.state import Input, Who
from tests.graph import test_consent, test_erasing, test_janitor, test_past, test_redaction
from tests.graph.conftest import Talk
from tests.graph.test_janitor import at, history, rows, saver

__all__ = ["saver"]
TWO_WAYS = [("whole", "delta"), ("delta", "whole")]


def saved(settings: Settings, messages: str) -> Settings:
    return settings.model_copy(update={"checkpoints": settings.checkpoints.model_copy(update={"messages": messages})})


@pytest.fixture
def settings(database_url: str) -> Settings:
    return saved(load_settings({"MUNIMENT_DATABASE_URL": database_url, "MUNIMENT_EMBEDDER": "hash-256"}), "delta")


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot every other turn, so that short threads have some."""
    monkeypatch.setattr(supervisor, "_SNAPSHOT_EVERY", 5)


@pytest.fixture
def ways(memory: Memory, settings: Settings, saver: PooledSaver) -> Callable[[str], Talk]:
    """The same threads by a graph of either setting."""

    def compiled(messages: str) -> Talk:
        own = saved(settings, messages)
        return Talk(memory, own, build(memory, None, own).compile(checkpointer=saver))

    return compiled


def texts(state: dict[str, Any]) -> list[str]:
    """What the person said."""
    return [str(one.text) for one in state["messages"] if isinstance(one, HumanMessage)]


async def read(here: Talk, thread: str = "a") -> list[Any]:
    return [one.values.get("messages", []) for one in await history(here.graph, thread)]


@pytest.mark.parametrize(
    ("told", "more"),
    [
        (test_past.test_a_replay_reads_what_was_read, {"node": "context"}),
        (test_past.test_a_fork_of_a_fork, {}),
        (test_past.test_an_edited_message_is_asked_of_the_same_memory, {}),
        (test_past.test_a_fork_by_update_then_a_message, {}),
        (test_past.test_whenever_checkpoints_are_saved, {"durability": "exit"}),
        (test_past.test_an_interrupt_that_is_answered_is_no_past, {}),
        (test_consent.test_an_interrupt_is_resumed, {"answer": "yes", "decision": "approved"}),
        (test_redaction.test_no_secret_is_in_a_checkpoint, {}),
        (test_erasing.test_threads_that_hold_it, {}),
        (test_janitor.test_the_supervisor_goes_on, {}),
    ],
)
async def test_it_is_told_again(
    told: Callable[..., Any],
    more: dict[str, Any],
    database_url: str,
    saver: PooledSaver,
    memory: Memory,
    settings: Settings,
    talk: Callable[..., Talk],
) -> None:
    """Replay, fork, memory as of a checkpoint, consent, redaction, erasure and the janitor are as with messages saved
    whole."""
    given = {"database_url": database_url, "saver": saver, "memory": memory, "settings": settings, "talk": talk,
             "here": talk(None, saver), **more}  # fmt: skip
    await told(**{name: given[name] for name in inspect.signature(told).parameters})


@pytest.mark.parametrize(("first", "second"), TWO_WAYS)
async def test_a_thread_goes_on_under_the_other_setting(
    ways: Callable[[str], Talk], saver: PooledSaver, first: str, second: str
) -> None:
    """Back and forth, every checkpoint reads the same by both, also after the janitor, and nothing that was said is
    lost."""
    one, other = ways(first), ways(second)
    for number in range(9):
        await (one, other)[number // 4 % 2].say(f"I own {number} bikes.")
    before = await read(one)
    assert before == await read(other)
    assert texts({"messages": before[0]}) == [f"I own {number} bikes." for number in range(9)]
    assert (await prune_threads(saver, keep=3)).checkpoints > 0
    after = await read(one)
    assert after == await read(other) == before[: len(after)]
    assert len(texts(await other.say("I own a boat."))) == 10


@pytest.mark.parametrize(("first", "second"), TWO_WAYS)
async def test_a_fork_under_the_other_setting(
    ways: Callable[[str], Talk], saver: PooledSaver, first: str, second: str
) -> None:
    """One that writes no message has those of its checkpoint, not what the thread went on to say; and it needs no
    ancestor."""
    one, other = ways(first), ways(second)
    await one.say("I own a boat.")
    await one.say("I own a car.")
    points = await history(one.graph, "a")
    for number, point in enumerate(points):
        made = await other.graph.aupdate_state(point.config, {"told_offline": True}, as_node="episodic")
        for here in (one, other):
            assert (await here.graph.aget_state(made)).values.get("messages") == point.values.get("messages"), number
    await prune_threads(saver, keep=2)
    end = (await other.graph.aget_state(at("a"))).values
    assert end.get("messages") == points[-1].values.get("messages")


async def test_messages_that_are_gone_are_refused(ways: Callable[[str], Talk], saver: PooledSaver) -> None:
    """A thread whose ancestors somebody removed is not taken for one without messages: no turn begins, nothing is
    saved."""
    here = ways("delta")
    await here.say("I own a boat.")
    points = await history(here.graph, "a")
    async with saver.cursor() as cursor:
        await cursor.execute(
            "delete from checkpoints where checkpoint_id < %s", (points[1].config["configurable"]["checkpoint_id"],)
        )
    had = await rows(saver)
    for one in (here, ways("whole")):
        with pytest.raises(NoCheckpoint, match="cannot be read without"):
            await one.say("I own a bike.")
        with pytest.raises(NoCheckpoint, match="cannot be read without"):
            await one.graph.aget_state(at("a"))
    with pytest.raises(NoCheckpoint, match="old ones are pruned"):
        await saver.aget_delta_channel_history(config=points[-1].config, channels=["messages"])
    assert await rows(saver) == had


async def test_a_run_whose_checkpoint_goes_meanwhile(
    ways: Callable[[str], Talk], saver: PooledSaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow one beside others is refused when it saves, and the thread is as it was; a fork has all it needs and goes
    on."""
    monkeypatch.setattr(supervisor, "_SNAPSHOT_EVERY", 9)  # at most four a turn: none of the first two has a snapshot
    here = ways("delta")
    await here.say("I own 0 bikes.")
    start = await here.graph.aget_state(at("a"))

    async def begun(config: Any) -> AsyncIterator[Any]:
        said = Input(messages=[HumanMessage("I own a boat.")])
        stream = here.graph.astream(said, config, context=Who(user="ana"), stream_mode="updates", durability="exit")
        while "context" not in await anext(stream):
            pass
        return stream

    slow, fork = await begun(at("a")), await begun(start.config)
    for number in range(1, 5):
        await here.say(f"I own {number} bikes.")
    end = await here.graph.aget_state(at("a"))
    await prune_threads(saver, keep=3)
    assert not (await here.graph.aget_state(start.config)).values
    with pytest.raises(StoreError, match="removed while it ran"):
        await _all(slow)
    assert (await here.graph.aget_state(at("a"))).values == end.values
    await _all(fork)
    assert texts((await here.graph.aget_state(at("a"))).values) == ["I own 0 bikes.", "I own a boat."]


async def _all(stream: AsyncIterator[Any]) -> None:
    async for _ in stream:
        pass


async def test_it_is_read_in_one_piece(
    ways: Callable[[str], Talk], database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes between a look for the ancestors and one for what was written from them is read with the rest, or
    nothing is."""
    here = ways("delta")
    await here.say("I own a boat.")
    before = await here.graph.aget_state(at("a"))

    def meanwhile(**given: Any) -> Any:
        with psycopg.connect(database_url) as janitor:
            janitor.execute("delete from checkpoints.checkpoint_writes")
        return _build_delta_stage2_sql(**given)

    monkeypatch.setattr("langgraph.checkpoint.postgres.aio._build_delta_stage2_sql", meanwhile)
    assert (await here.graph.aget_state(at("a"))).values == before.values


async def test_what_was_said_long_ago_is_found(
    ways: Callable[[str], Talk], saver: PooledSaver, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An erasure looks through all messages of a thread's end, wherever they are saved, also of one that reads no
    more."""
    monkeypatch.setattr(supervisor, "_SNAPSHOT_EVERY", 50)
    here = ways("delta")
    for text in ("I am allergic to walnuts.", "Good morning to you."):
        await here.say(text)
    space = Scope(owner="ana", tenant=here.settings.tenant).space

    def said(text: str) -> bool:
        return text == "I am allergic to walnuts."

    assert await find_holding_threads(saver, space, (), (), said) == ["a"]
    with psycopg.connect(database_url) as admin:
        admin.execute("delete from checkpoints.checkpoints where parent_checkpoint_id is null")
    assert await find_holding_threads(saver, space, (), (), lambda text: text == "Good morning to you.") == ["a"]


async def test_a_copied_thread_goes_on(ways: Callable[[str], Talk], saver: PooledSaver, memory: Memory) -> None:
    """A supervisor's thread with a delta channel, from another saver: as it was, by either setting."""
    here, source = ways("delta"), InMemorySaver()
    there = Talk(memory, here.settings, build(memory, None, here.settings).compile(checkpointer=source))
    for number in range(4):
        await there.say(f"I own {number} bikes.")
    await migrate_threads(source, saver)
    assert await read(here) == await read(ways("whole"))
    told = [[texts(one.values) for one in await history(talk.graph, "a") if one.values] for talk in (here, there)]
    assert told[0] == told[1]
    assert texts(await here.say("I own a boat."))[3:] == ["I own 3 bikes.", "I own a boat."]
