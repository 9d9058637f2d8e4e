"""When something fails: the turn goes on, says so once, and loses nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from muniment.graph.checkpointer import open_saver
from muniment.graph.supervisor import build
from muniment.graph.turn import finish_turn, make_thread_key
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.search import Search, SearchSnapshot
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import Denied, StoreDown, StoreError
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.nodes.state import Input, State, Who
from muniment.testing.fakes import FixedClock
from tests.graph.conftest import STORY, Talk, last
from tests.graph.test_model import Slow

NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing?connect_timeout=1"


def ana(talk: Talk) -> Scope:
    return Scope(owner="ana", tenant=talk.settings.tenant)


async def rows(url: str, query: str) -> list[tuple[Any, ...]]:
    async with await psycopg.AsyncConnection.connect(url) as conn:
        return await (await conn.execute(query)).fetchall()


class Shut:
    """A database that can be closed and opened while it is in use."""

    def __init__(self, url: str) -> None:
        self.url, self.name = url, conninfo_to_dict(url)["dbname"]

    async def set(self, *, shut: bool) -> None:
        async with await psycopg.AsyncConnection.connect(
            make_conninfo(self.url, dbname="postgres"), autocommit=True
        ) as c:
            allow = sql.SQL("false" if shut else "true")
            await c.execute(
                sql.SQL("alter database {} allow_connections {}").format(sql.Identifier(str(self.name)), allow)
            )
            await c.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", (self.name,))


@pytest.mark.parametrize("budget", ["daily_tokens: null", "currency: EUR", "daily_tokens: 1000000"])
async def test_no_database_is_no_silence(clock: FixedClock, budget: str, tmp_path: Path) -> None:
    """Without a database every turn has a reply that says so once; the model's, unless a budget that was set cannot
    be read."""
    is_silent = budget == "daily_tokens: 1000000"
    file = tmp_path / "mine.yaml"
    file.write_text(f"spend:\n  {budget}\n")
    environment = {"MUNIMENT_DATABASE_URL": NOWHERE, "MUNIMENT_EMBEDDER": "hash-256", "MUNIMENT_CONFIG": str(file)}
    settings = load_settings(environment)
    memory = bootstrap.create_memory(settings, embedder=HashEmbedder(), clock=clock)
    slow = Slow()
    slow.go.set()
    graph = build(memory, slow, settings).compile(checkpointer=InMemorySaver())
    state = await graph.ainvoke(Input(messages=[HumanMessage(STORY)]), {"configurable": {"thread_id": "a"}})
    assert slow.asked.is_set() is not is_silent
    assert last(state).startswith("Done.") is not is_silent
    assert ("the budget cannot be read" in last(state)) is is_silent
    assert last(state).count("Memory is unavailable") == 1
    assert "StoreDown" in last(state)
    assert state["revision"] is None


async def test_what_memory_missed_it_gets_later(
    settings: Settings, database_url: str, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was said while the database was down is learned and recorded with the next turn, with its own time."""
    monkeypatch.setattr("muniment.memory.stores.postgres.connection.pool._WAIT_SECONDS", 1.0)
    shut = Shut(database_url)
    async with bootstrap.create_memory(settings, embedder=HashEmbedder(), clock=clock) as memory:
        here = Talk(memory, settings, build(memory, None, settings).compile(checkpointer=InMemorySaver()))
        await here.say("Hello there!")
        await shut.set(shut=True)
        lost = await here.say(STORY)
        assert "Memory is unavailable" in last(lost)
        assert len(lost["to_learn"]) == 1
        assert len(lost["to_record"]) == 2
        await shut.set(shut=False)
        said_at = clock.now()
        clock.advance(3600)
        found = await here.say("Good morning.")
    assert len(found["writes"]) == 3
    assert (found["to_learn"], found["to_record"]) == ({}, {})
    turns = await rows(database_url, "select role, at, text from muniment.turns order by at")
    assert len(turns) == 6
    assert [at for _, at, text in turns if text == STORY] == [said_at]
    events = await rows(database_url, "select distinct node from muniment.events where status = 'error'")
    assert {node for (node,) in events} >= {"context", "hotpath"}


async def test_memory_that_fails_is_not_memory_that_knows_nothing(
    talk: Callable[..., Talk], memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look beside the context fails: the reply says so, and not that nothing is remembered."""
    here, look = talk(), memory.engine.store.reads.read_snapshot
    await here.say(STORY)

    async def once(reader: Reader, search: Search | None, **more: Any) -> SearchSnapshot:
        if more["as_of"] is not None:
            raise StoreDown
        return await look(reader, search, **more)

    monkeypatch.setattr(memory.engine.store.reads, "read_snapshot", once)
    state = await here.say("Who is Zoe?", thread="b")
    assert state["header"]
    assert "(StoreDown), so this reply was made without it" in last(state)
    assert "nothing in memory" not in last(state)


async def test_too_long_a_message_is_refused_in_words(talk: Callable[..., Talk]) -> None:
    """The user is told the size and the limit; neither model nor memory gets the message, and later turns work."""
    slow = Slow()
    slow.go.set()
    here = talk(slow)
    state = await here.say("I live in Lisbon. " * 6000)
    assert "108,000" in last(state)
    assert "100,000" in last(state)
    assert not slow.asked.is_set()
    assert state["writes"] == []
    assert state["to_learn"] == state["to_record"] == {}
    assert last(await here.say("Hello there!")) == "Done."


async def test_what_can_never_be_learned_holds_nothing_up(
    talk: Callable[..., Talk], database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message that the database refuses, or that is gone from the thread, is not tried again for ever."""
    here = talk()
    learn = here.memory.learn

    async def refused(who: Scope, turn: Turn, **more: Any) -> Receipt:
        if turn.text == "poison":
            raise StoreError("no such thing can be stored (54000)")
        return await learn(who, turn, **more)

    monkeypatch.setattr(here.memory, "learn", refused)
    state = await here.say("poison")
    assert "StoreError" in last(state)
    await here.graph.aupdate_state(here.config("a"), State(to_learn={"gone": state["at"]}), as_node="episodic")
    state = await here.say(STORY)
    assert (state["to_learn"], state["to_record"], state["unwritten"]) == ({}, {}, "")
    assert state["writes"]
    assert len(await rows(database_url, "select from muniment.turns")) == 4


async def test_a_thread_belongs_to_one_user(talk: Callable[..., Talk]) -> None:
    """Another user in the same thread is denied, and nothing that they say stays or is learned."""
    here = talk()
    await here.say("I live in Lisbon.")
    with pytest.raises(Denied):
        await here.say("I live in Porto.", user="bob")
    state = await here.say("I have a dog called Rex.")
    assert "Porto" not in "".join(str(message.text) for message in state["messages"])
    assert not [one for one in await here.memory.list(ana(here)) if "Porto" in one.text]


async def test_a_login_wins_over_the_context(talk: Callable[..., Talk]) -> None:
    """The authenticated user owns the memory; a context that names another user or tenant is denied."""
    here = talk()
    login = here.config("a", langgraph_auth_user_id="ana")
    said = Input(messages=[HumanMessage(STORY)])
    await here.graph.ainvoke(said, login)
    assert len(await here.memory.list(ana(here))) == 3
    for context in (Who(user="bob"), Who(tenant="other")):
        with pytest.raises(Denied):
            await here.graph.ainvoke(said, login, context=context)


async def test_two_users_may_name_a_thread_alike(talk: Callable[..., Talk]) -> None:
    """The checkpointer's name of a thread differs by owner and is stable."""
    one, two = ana(talk()).space, Scope(owner="bob").space
    assert make_thread_key(one, "main") == make_thread_key(one, "main")
    assert make_thread_key(one, "main") != make_thread_key(two, "main")


CHILD = """
import asyncio, sys
from tests.graph.conftest import *
from tests.graph.test_model import Slow
from muniment.graph.checkpointer import open_saver

async def run(url):
    settings = load_settings({"MUNIMENT_DATABASE_URL": url})
    async with open_saver(url) as saver, bootstrap.create_memory(settings, embedder=HashEmbedder()) as memory:
        slow = Slow()
        here = Talk(memory, settings, build(memory, slow, settings).compile(checkpointer=saver))
        stream = here.graph.astream(Input(messages=[HumanMessage(STORY)]), here.config("a"), context=Who(user="ana"))
        async for update in stream:
            if "hotpath" in update:
                await slow.asked.wait()
                # What LangGraph saves beside the next step may come later than that step's question.
                while not (await here.graph.aget_state(here.config("a"))).next:
                    await asyncio.sleep(0.01)
                print("thinking", flush=True)

asyncio.run(run(sys.argv[1]))
"""


async def test_a_killed_turn_ends_later_and_once(settings: Settings, database_url: str) -> None:
    """A process killed while the model thinks: another one finishes the turn with one reply, write and ledger entry."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, database_url], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )
    with child:
        assert child.stdout is not None
        assert await asyncio.to_thread(child.stdout.readline) == "thinking\n"
        child.kill()
    slow = Slow()
    slow.go.set()
    async with open_saver(database_url) as saver, bootstrap.create_memory(settings, embedder=HashEmbedder()) as memory:
        here = Talk(memory, settings, build(memory, slow, settings).compile(checkpointer=saver))
        assert len(await memory.list(ana(here))) == 3
        assert await finish_turn(here.graph, here.config("a"), Who(user="ana"))
        assert not await finish_turn(here.graph, here.config("a"), Who(user="ana"))
        state = (await here.graph.aget_state(here.config("a"))).values
        assert [message.type for message in state["messages"]] == ["human", "ai"]
        assert last(state) == 'Done.\n\nMay I use "Ana" as your name everywhere? (yes/no)'
        assert len(await memory.list(ana(here))) == 3
        assert len(await memory.history(ana(here))) == 3
        assert len(await rows(database_url, "select from muniment.turns")) == 2
