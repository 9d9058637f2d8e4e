"""The checkpointer: its tables, its concurrency, and the official conformance suite."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from uuid import uuid4

import psycopg
import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from psycopg.conninfo import make_conninfo

from muniment.graph.checkpointer import checkpointer, open_saver
from muniment.graph.saver import PooledSaver
from muniment.memory import bootstrap
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import Denied, StoreDown, StoreFull
from muniment.testing.openai_server import ScriptedOpenAI
from tests.graph.conftest import STORY, Talk, last


async def test_the_tables_live_in_their_own_schema(empty_database_url: str) -> None:
    """Four processes that start at once make the tables once, in `checkpoints` and nowhere else."""

    async def start() -> None:
        async with open_saver(empty_database_url):
            pass

    await asyncio.gather(*(start() for _ in range(4)))
    async with await psycopg.AsyncConnection.connect(empty_database_url) as conn:
        found = await conn.execute("select distinct schemaname from pg_tables where tablename like 'checkpoint%'")
        assert await found.fetchall() == [("checkpoints",)]


async def test_it_conforms(empty_database_url: str) -> None:
    """LangGraph's own suite passes."""

    @checkpointer_test(name="PooledSaver")
    async def saver() -> AsyncIterator[PooledSaver]:
        async with open_saver(empty_database_url) as opened:
            yield opened

    report = await validate(saver)
    assert report.passed_all_base()


async def test_a_thread_survives_a_restart(talk: Callable[..., Talk], database_url: str) -> None:
    """What was said is there when another saver opens the same database."""
    async with open_saver(database_url) as saver:
        await talk(saver=saver).say(STORY)
    async with open_saver(database_url) as saver:
        state = await talk(saver=saver).say("Hello again!")
    assert [message.type for message in state["messages"]] == ["human", "ai", "human", "ai"]


async def test_the_threads_as_a_view(talk: Callable[..., Talk], database_url: str) -> None:
    """A row for each thread of somebody: its newest checkpoint, and from when to when it went; by an index for one
    user."""
    async with open_saver(database_url) as saver:
        here = talk(saver=saver)
        for thread in ("a", "a", "b"):
            await here.say("I own a bike.", thread=thread)
        await here.say("I own a boat.", thread="c", user="ben")
        newest = (await here.graph.aget_state(here.config("a"))).config["configurable"]["checkpoint_id"]
        space = str(Scope(owner="ana").space)
        async with saver.cursor() as cursor:
            await cursor.execute("select * from supervisor_checkpoints where user_id = %s order by thread_id", (space,))
            first, second = await cursor.fetchall()
            await cursor.execute("set enable_seqscan = off")  # of twenty rows it reads all
            await cursor.execute("explain select * from supervisor_checkpoints where user_id = %s", (space,))
            plan = str(await cursor.fetchall())
    assert (str(first["id"]), first["thread_id"], second["thread_id"]) == (newest, "a", "b")
    assert first["checkpoint_data"]["channel_values"]["space"] == space
    assert first["created_at"] < first["updated_at"] < second["updated_at"]
    assert "checkpoints_space_idx" in plan


async def test_many_threads_at_once(talk: Callable[..., Talk], database_url: str) -> None:
    """More turns at once than the pool has connections all end, each in its own thread."""
    async with open_saver(database_url) as saver:
        many = talk(saver=saver)
        states = await asyncio.gather(*(many.say(f"I own {n} bikes.", thread=str(n)) for n in range(20)))
    assert [state["messages"][0].text for state in states] == [f"I own {n} bikes." for n in range(20)]
    assert all(last(state) for state in states)


async def test_the_server_gets_it_by_the_settings(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without arguments it opens the database that the environment names."""
    monkeypatch.setenv("MUNIMENT_DATABASE_URL", database_url)
    async with checkpointer() as saver:
        assert await saver.aget_tuple({"configurable": {"thread_id": "none", "checkpoint_ns": ""}}) is None


async def test_checkpoints_may_live_elsewhere(
    database_url: str, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a database of their own they are there, and not beside the memories."""
    for name, value in {
        "DATABASE_URL": database_url,
        "CHECKPOINTS_URL": empty_database_url,
        "EMBEDDER": "hash-256",
    }.items():
        monkeypatch.setenv(f"MUNIMENT_{name}", value)
    async with checkpointer() as saver:
        assert await saver.aget_tuple({"configurable": {"thread_id": "none", "checkpoint_ns": ""}}) is None
    for url, there in ((empty_database_url, True), (database_url, False)):
        with psycopg.connect(url) as conn:
            found = conn.execute("select to_regclass('checkpoints.checkpoints') is not null").fetchone()
            assert found == (there,)


async def test_the_server_has_a_worker(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside, background jobs are done; those that want a model wait for one."""
    user = Scope(owner="ana")
    turn = Turn.make(session="a", key="1", role="user", text="I live in Porto.", at=datetime(2026, 5, 4, tzinfo=UTC))
    with ScriptedOpenAI('{"facts": []}') as model:
        named = {"MUNIMENT_MODEL": "m", "OPENAI_BASE_URL": model.base_url, "MUNIMENT_EMBEDDER": "hash-256"}
        for name, value in (named | {"MUNIMENT_DATABASE_URL": database_url}).items():
            monkeypatch.setenv(name, value)
        async with bootstrap.create_memory(load_settings()) as memory:
            await memory.conversation.record(user, [turn])
            await memory.engine.store.jobs.enqueue_jobs([Job(name="build_missed", scope=user, key="a")])
            monkeypatch.delenv("MUNIMENT_MODEL")
            async with checkpointer(), asyncio.timeout(20):
                # Tended at once where the space's turn of this round has come, else later in it.
                while (
                    "tend" not in await memory.jobs.count_jobs() and (await memory.read_status(user))["tended"] is None
                ):
                    await asyncio.sleep(0.05)
            assert (await memory.jobs.count_jobs())["build_missed"] == {"due": 1, "later": 0, "running": 0}
            monkeypatch.setenv("MUNIMENT_MODEL", "m")
            async with checkpointer():
                async with asyncio.timeout(20):
                    while "build_missed" in await memory.jobs.count_jobs():
                        await asyncio.sleep(0.05)
    assert len(model.requests) == 1


async def test_no_database_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that is not there is StoreDown, not a driver's error."""
    monkeypatch.setattr("muniment.graph.checkpointer._CONNECT_SECONDS", 0.5)
    with pytest.raises(StoreDown):
        async with open_saver("postgresql://nobody@127.0.0.1:1/nothing"):
            pass


async def test_a_full_disk_is_not_a_lost_database(empty_database_url: str) -> None:
    """What the saver raises says which of the two it is."""
    async with open_saver(empty_database_url) as saver:
        with pytest.raises(StoreFull):
            async with saver._cursor() as cursor:
                await cursor.execute("do $$ begin raise exception using errcode = 'disk_full'; end $$")


async def test_a_role_without_rights_is_told_so(empty_database_url: str) -> None:
    """Before the tables are there as after: what it may not do is the message, and no other kind of error."""
    role = f"stranger_{uuid4().hex}"
    with psycopg.connect(empty_database_url, autocommit=True) as admin:
        admin.execute(f"create role {role} login password 'secret'")
        theirs = make_conninfo(empty_database_url, user=role, password="secret")
        try:
            for _ in range(2):
                with pytest.raises(Denied, match="may not use the checkpoints"):
                    async with open_saver(theirs):
                        pass
                async with open_saver(empty_database_url):
                    pass
        finally:
            admin.execute(f"drop role {role}")
