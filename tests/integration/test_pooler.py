"""Behind a pooler that hands on its connections with each transaction: no role is lost, none is left, no lock stays."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from psycopg.rows import tuple_row

from muniment.graph import janitor
from muniment.graph.checkpointer import open_saver
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.plan import Change, WritePlan
from muniment.memory.domain.query import Query
from muniment.memory.errors import BadConfig, Conflict
from muniment.memory.stores.postgres import jobs, writes
from muniment.memory.stores.postgres.schema import scrub
from muniment.memory.stores.postgres.store import PostgresStore
from tests.engine import NOON, engine, note, scope
from tests.pooler import Pooler

SESSION = """
select current_user = session_user, current_setting('search_path'), current_setting('enable_seqscan'),
  current_setting('idle_in_transaction_session_timeout'), current_setting('maintenance_work_mem'),
  array(select pg_listening_channels()), (select count(*) from pg_prepared_statements),
  (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid())
"""
WHO = "select current_user::text as who, (select count(*) from muniment.memories) as seen"


@pytest.fixture
def way(database_url: str) -> Iterator[Pooler]:
    with Pooler(database_url) as pooler:
        yield pooler


async def stand(way: Pooler) -> set[object]:
    """What the pooler's connections were left as, one after the other."""
    async with await psycopg.AsyncConnection.connect(
        way.url, autocommit=True, row_factory=tuple_row, prepare_threshold=None
    ) as conn:
        return {str(await (await conn.execute(SESSION)).fetchone()) for _ in way.backends}


async def test_every_transaction_is_in_the_application_s_role(way: Pooler) -> None:
    """Two tenants with more clients than connections: each reads its own rows, outside a space nobody reads any, and
    the connections are left as they were."""
    before = await stand(way)

    async def live(n: int) -> None:
        who, word = scope("ana", tenant=f"tenant{n % 2}"), ("plum", "pear")[n % 2]
        async with engine(way.url) as memory:
            store = memory.engine.store
            assert isinstance(store, PostgresStore)
            for k in range(3):
                await memory.ingest(who, [note(f"Saw {word} number {n} and {k} in the garden")])
                answer = await memory.query(who, "supervisor", Query(text=f"{word} in the garden"))
                assert answer.hits
                assert all(word in hit.memory.text for hit in answer.hits)
                async with store._connections.transaction() as conn:
                    row = await (await conn.execute(WHO)).fetchone()
                assert row == {"who": "muniment_app", "seen": 0}

    await asyncio.gather(*map(live, range(6)))
    assert await stand(way) == before


async def test_nothing_is_kept_in_a_session(way: Pooler, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints are found, and pruned; a lock keeps others out and ends; an index is made; nobody listens, and who
    looks for jobs is called once; what cannot be done without a session says so. The connections are left as they
    were."""
    monkeypatch.setattr(jobs, "_QUIET_SECONDS", 0.0)
    before = await stand(way)
    where = {"configurable": {"thread_id": "A", "checkpoint_ns": ""}}
    async with open_saver(way.url) as saver, open_saver(way.url) as other:
        last = where
        for step in range(3):
            last = await saver.aput(last, empty_checkpoint(), {"source": "loop", "step": step, "parents": {}}, {})  # type: ignore[arg-type, assignment]
            await other.aput_writes(last, [("x", step)], "task")  # type: ignore[arg-type]
        assert (await janitor.prune_threads(saver, keep=1)).checkpoints == 1
        found = await other.aget_tuple(where)  # type: ignore[arg-type]
        assert found is not None
        assert [write[2] for write in found.pending_writes or ()] == [2]
    async with engine(way.url) as memory, engine(way.url) as rival:
        await memory.ingest(scope(), [note("Planted a plum tree")])
        store, against = memory.engine.store, rival.engine.store
        assert isinstance(store, PostgresStore)
        assert isinstance(against, PostgresStore)
        async with store.embedder_switch.acquire_switch():
            with pytest.raises(Conflict):
                async with against.embedder_switch.acquire_switch():
                    pass
        async with against.embedder_switch.acquire_switch():
            pass
        assert (await store.maintenance.index_space(scope(), 1)).indexed
        assert len([called async for called in store.jobs.listen_for_jobs(["tend"])]) == 1
    with pytest.raises(BadConfig, match="name Postgres itself"):
        await scrub.scrub_database(way.url)
    assert await stand(way) == before


async def test_a_pooler_that_poses_as_postgres_gets_no_answer(database_url: str) -> None:
    """One that cannot be told from Postgres: where its connection is another than was set, or is in another role,
    nothing is searched without row-level security, and all else is in the right role."""
    with Pooler(database_url, posing=True) as way:
        async with engine(way.url) as memory:
            store = memory.engine.store
            assert isinstance(store, PostgresStore)
            await memory.ingest(scope(), [note("Planted a plum tree")])
            assert (await memory.query(scope(), "supervisor", Query(text="plum tree"))).hits
            way.turn()
            with pytest.raises(BadConfig, match="pool be one of sessions"):
                await memory.query(scope(), "supervisor", Query(text="plum tree"))
            await store.close()
            async with store._connections.statement() as conn:
                await conn.execute("reset role")
            with pytest.raises(BadConfig, match="pool be one of sessions"):
                await memory.query(scope(), "supervisor", Query(text="plum tree"))
            with pytest.raises(BadConfig, match="pool be one of sessions"):
                await memory.remember(scope(), "I live in Porto")
            async with store._connections.reading(scope("ben"), None) as conn:
                row = await conn.execute(WHO)
            assert await row.fetchone() == {"who": "muniment_app", "seen": 0}


async def test_a_plan_is_written_in_the_application_s_role_or_not_at_all(database_url: str) -> None:
    """One statement is all that such a plan is: nothing before it can have seen that the role is another."""
    async with engine(database_url) as memory:
        store = memory.engine.store
        assert isinstance(store, PostgresStore)
        await memory.ingest(scope(), [note("Planted a plum tree")])
        [tree] = await memory.list(scope())
        rev = Revision((await memory.read_status(scope()))["rev"])
        felled = Change(action="UPDATE", before=tree, after=replace(tree, text="Felled a plum tree"))
        plan = WritePlan(scope=scope(), expected_rev=rev, node="face", at=NOON, changes=(felled,))
        async with store._connections.statement() as conn:
            await conn.execute("reset role")
            with pytest.raises(psycopg.Error) as refused:
                await writes.send_plan(conn, plan, memory.engine.embedder.name)
            assert refused.value.sqlstate == "MU003"
            await conn.execute("set role muniment_app")
        assert [one.text for one in await memory.list(scope())] == ["Planted a plum tree"]
