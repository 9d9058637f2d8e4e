"""Whoever is cut off from Postgres - packets vanish, and nobody is told: what it held is let go, and nothing is done
twice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from muniment.graph import janitor
from muniment.graph.checkpointer import open_saver
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.query import Query
from muniment.memory.errors import StoreDown
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.stores.postgres.connection import keepalive
from muniment.memory.stores.postgres.connection.errors import translate_errors
from muniment.memory.stores.postgres.store import PostgresStore
from tests.engine import note, scope, settings
from tests.faces.conftest import PROGRAM
from tests.integration.test_batch_kills import HERE, STOP, WAITS
from tests.wire import Wire

SILENT = 2
QUICK = (
    f"database: {{silent_seconds: {SILENT}}}\njobs: {{stalled_seconds: 1}}\nconsolidation: {{lease_minutes: 0.01}}\n"
    "session_ledger: {run_on_startup: false, cleanup_interval_seconds: 1000000000}\n"
)
ANA, BEN = scope("ana"), scope("ben")
HOLDS = "select count(*) from pg_stat_activity where datname = current_database() and state = 'idle in transaction'"
WAITING = "select count(*) from jobs.queue"
MERGED = "select count(*), count(distinct memory_id) from muniment.journal where action = 'MERGE'"


def quick(url: str, folder: Path, **more: str) -> dict[str, str]:
    """The environment of a process behind this address, with short times."""
    file = folder / "quick.yaml"
    file.write_text(QUICK)
    return {"MUNIMENT_DATABASE_URL": url, "MUNIMENT_EMBEDDER": "hash-256", "MUNIMENT_CONFIG": str(file), **more}


class Admin:
    """Somebody with a way of his own into the test's database."""

    def __init__(self, url: str) -> None:
        self.conn = psycopg.connect(url, autocommit=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.conn.close()

    def one(self, query: str, *values: object) -> Any:
        return (self.conn.execute(query, values or None).fetchone() or (None,))[0]

    async def until(self, condition: Callable[[], bool], seconds: float = 30.0) -> float:
        """How long it took."""
        started = time.monotonic()
        while not condition():
            assert time.monotonic() - started < seconds, "it did not happen in time"
            await asyncio.sleep(0.02)
        return time.monotonic() - started


async def pair(memory: Memory, *owners: Any) -> None:
    """Two memories that are one, a job to find that out, and no other job."""
    for who in owners:
        await memory.ingest(
            who, [note("The green door is locked at night"), note("The green door is locked at night.")]
        )
    await memory.engine.store.jobs.enqueue_jobs([Job(name="tend", scope=who) for who in owners])


async def test_a_worker_is_cut_off(database_url: str, tmp_path: Path) -> None:
    """In the middle of a space's tending, its locks in its hands: another one takes over, nothing is merged twice, and
    it goes on when the cut heals. Cut off again, it ends at a signal all the same."""
    tuned = load_settings(quick(database_url, tmp_path))
    with Admin(database_url) as admin, Wire(database_url) as way:
        there = {**os.environ, **quick(way.url, tmp_path)}
        async with bootstrap.create_memory(tuned, embedder=HashEmbedder()) as memory:
            await pair(memory, ANA)
            admin.conn.execute(STOP.format(here=HERE, event="insert on muniment.journal", when=""))
            admin.conn.execute("select pg_advisory_lock(%s)", (HERE,))
            process = subprocess.Popen(
                [PROGRAM, "work", "--json"], env=there, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            try:
                await admin.until(lambda: admin.one(WAITS, HERE) is not None)
                way.stall()
                admin.conn.execute("select pg_advisory_unlock(%s)", (HERE,))
                await admin.until(lambda: admin.one(HOLDS) == 1)
                await _taken_over(admin, memory, tuned)
                (run, cut) = await memory.admin.list_runs(ANA)
                assert (run.status, run.same, cut.status, cut.same) == ("done", 1, "interrupted", 0)
                assert admin.conn.execute(MERGED).fetchone() == (2, 2)
                way.heal()
                await pair(memory, BEN)
                await admin.until(lambda: not admin.one(WAITING))
                assert admin.conn.execute(MERGED).fetchone() == (4, 4)
                assert [one.status for one in await memory.admin.list_runs(ANA)] == ["done", "interrupted"]
                way.stall()
                process.send_signal(signal.SIGTERM)
                out, err = await asyncio.to_thread(process.communicate, timeout=20)
            finally:
                process.kill()
    told = [json.loads(line) for line in out.splitlines()]
    assert [(one.get("job"), one.get("failed")) for one in told[:-1]] == [("tend", "StoreDown"), ("tend", None)]
    assert told[-1]["error"]["type"] == "StoreDown"
    assert "the database does not answer: what was under way goes to another worker" in told[-1]["error"]["message"]
    assert process.returncode == 6
    assert b"Traceback" not in err


async def _taken_over(admin: Admin, memory: Memory, tuned: Settings) -> None:
    """Another worker does what the one that is cut off has begun, once the server has let go of it."""
    async with bootstrap.open_worker(tuned, memory, with_schedule=False) as other:
        working = asyncio.create_task(other.run())
        await admin.until(lambda: admin.one(HOLDS) == 0, 2 * SILENT)
        await admin.until(lambda: not admin.one(WAITING))
        other.stop()
        await asyncio.wait_for(working, 10)


async def test_a_query_is_cut_off(database_url: str, tmp_path: Path) -> None:
    """It ends with StoreDown in bounded time, the first and those that come meanwhile, and is answered again
    afterwards."""
    with Wire(database_url) as way:
        tuned = load_settings(quick(way.url, tmp_path))

        async def asked() -> int:
            return len((await memory.query(ANA, "supervisor", Query(text="Which door is locked at night?"))).hits)

        async with bootstrap.create_memory(tuned, embedder=HashEmbedder()) as memory:
            await memory.ingest(ANA, [note("The green door is locked at night")])
            assert await asked() == 1
            way.stall()
            started = time.monotonic()
            with pytest.raises(StoreDown):
                await asked()
            assert time.monotonic() - started < 2 * SILENT
            started = time.monotonic()
            ends = await asyncio.gather(*(asked() for _ in range(8)), return_exceptions=True)
            assert {type(one) for one in ends} == {StoreDown}
            assert time.monotonic() - started < 2 * SILENT
            way.heal()
            assert await asked() == 1


async def test_what_another_worker_has_is_not_ended(database_url: str) -> None:
    """A worker that was taken for dead says that its job is done: it may be wanted anew by now, and stays."""
    async with bootstrap.create_memory(settings(database_url), embedder=HashEmbedder()) as memory:
        queue, job = memory.engine.store, Job(name="tend", scope=ANA)
        await queue.jobs.enqueue_jobs([job])
        held = await queue.jobs.take_job(await queue.jobs.register_worker(), ["tend"])
        assert held is not None
        assert await queue.jobs.requeue_abandoned(0) == 1
        await queue.jobs.enqueue_jobs([job])
        await queue.jobs.finish_job(held)
        assert (await queue.jobs.count_jobs())["tend"] == {"due": 1, "later": 0, "running": 0}
        again = await queue.jobs.take_job(await queue.jobs.register_worker(), ["tend"])
        assert again is not None
        await queue.jobs.reschedule_job(held, timedelta())
        assert (await queue.jobs.count_jobs())["tend"]["running"] == 1
        await queue.jobs.finish_job(again)
        assert await queue.jobs.count_jobs() == {}


def test_an_address_keeps_what_it_says() -> None:
    """The bounds are added where it says nothing of them."""
    bound = conninfo_to_dict(
        keepalive.add_keepalive("postgresql://ana@here:5433/what?connect_timeout=7&application_name=x", 20)
    )
    assert bound == {
        "user": "ana", "host": "here", "port": "5433", "dbname": "what", "application_name": "x",
        "connect_timeout": "7",
        "tcp_user_timeout": "20000", "keepalives_idle": "10", "keepalives_interval": "3", "keepalives_count": "3",
    }  # fmt: skip


async def test_a_long_round_keeps_its_lock(database_url: str) -> None:
    """The one janitor of a database holds its lock in a transaction of its own, for longer than a client may be
    silent."""
    hurried = make_conninfo(keepalive.add_keepalive(database_url, SILENT), tcp_user_timeout=50)
    async with open_saver(hurried) as saver:

        async def stands_still() -> None:
            async with saver.cursor() as cursor, cursor.connection.transaction():
                await cursor.execute("select")
                await asyncio.sleep(0.3)

        async with janitor._try_lock(saver) as alone:
            await asyncio.sleep(0.3)
        assert alone
        with pytest.raises(StoreDown):
            await stands_still()


async def test_a_process_that_stood_still(database_url: str) -> None:
    """The server has ended its transaction: to it the database was not there for a while."""
    async with await psycopg.AsyncConnection.connect(database_url) as conn:
        await conn.execute("set idle_in_transaction_session_timeout = '20ms'")
        await asyncio.sleep(0.2)
        with pytest.raises(StoreDown), translate_errors():
            await conn.execute("select")


async def test_every_pool_heeds_it(database_url: str) -> None:
    """A client that vanishes in the middle of a transaction holds nothing for longer than the settings say."""
    tuned, shown = settings(database_url), "show idle_in_transaction_session_timeout"
    async with bootstrap.create_memory(tuned, embedder=HashEmbedder()) as memory:
        assert isinstance(memory.engine.store, PostgresStore)
        async with memory.engine.store._connections.connect() as conn:
            assert (await (await conn.execute(shown)).fetchone()) == {"idle_in_transaction_session_timeout": "20s"}
        async with open_saver(await bootstrap.ensure_checkpoint_database(tuned)) as saver, saver.cursor() as cursor:
            await cursor.execute(shown)
            assert await cursor.fetchone() == {"idle_in_transaction_session_timeout": "20s"}
