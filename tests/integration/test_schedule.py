"""Rounds: one in a slot however many workers, which spaces they find due, and that each is tended once."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import psycopg
import pytest

from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.jobs import JobName, JobOutcome
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Change, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import StoreDown
from muniment.memory.flows.background.maintenance import Schedule
from muniment.memory.models.clock import SystemClock
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.rules.policy.schedule import compute_stagger, find_slot_start
from muniment.memory.stores.postgres import jobs
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, note, reads, said, scope, settings
from tests.faces.conftest import PROGRAM

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
EVERY, SPREAD = DAY, 6 * HOUR


def ask(url: str, query: str, *values: Any) -> list[Any]:
    with psycopg.connect(url, autocommit=True) as conn:
        cursor = conn.execute(query, values)
        return cursor.fetchall() if cursor.description else []


def tends(url: str) -> set[str]:
    """The owners of the spaces whose tending waits."""
    return {owner for (owner,) in ask(url, "select args ->> 'owner' from jobs.queue where name = 'tend'")}


def often(url: str, **changed: Any) -> Settings:
    """A round every second."""
    own = settings(url)
    ledger = own.session_ledger.model_copy(update={"cleanup_interval_seconds": 1.0} | changed)
    return own.model_copy(update={"session_ledger": ledger})


async def keep(memory: Memory, owner: str, text: str = "The lamp is brass") -> None:
    await memory.keep_candidates(scope(owner), [note(text)])


async def test_a_slot_is_given_away_once(database_url: str) -> None:
    """Many ask, in any order and with clocks set forward and back: each slot brings one round, and none is lost."""
    async with engine(database_url) as memory:
        store = memory.engine.store
        asked = await asyncio.gather(*(store.maintenance.enqueue_periodic("round", NOON) for _ in range(20)))
        assert sorted(asked) == [False] * 19 + [True]
        assert ask(database_url, "select count(*) from jobs.queue") == [(1,)]
        assert not await store.maintenance.enqueue_periodic("round", NOON)
        ask(database_url, "delete from jobs.queue")
        slots = [NOON + n * SPREAD for n in (1, 400, 2, 1, 3, 400, 2, 0)]
        assert [await store.maintenance.enqueue_periodic("round", one) for one in slots] == [
            True,
            True,
            True,
            False,
            True,
            False,
            False,
            False,
        ]
        assert ask(database_url, "select count(*) from jobs.queue") == [(1,)]  # waits already


async def test_who_asks_for_rounds(database_url: str) -> None:
    """At the start, unless told not to, and then once in each slot; a database that is away is asked again."""
    clock = FixedClock(NOON + HOUR)
    asked: list[datetime] = []

    class Desk:
        down = False

        async def enqueue_periodic(self, name: JobName, at: datetime) -> bool:
            assert name == "round"
            if self.down:
                raise StoreDown("away")
            asked.append(at)
            return True

    rules = settings(database_url).session_ledger
    desk = Desk()
    rounds = Schedule(desk, clock, lambda: rules)
    for hours in (0, 4, 2, 6):
        clock.advance(hours * 3600)
        await rounds.request_round()
    assert asked == [find_slot_start(NOON, SPREAD) + n * SPREAD for n in (0, 1, 2)]
    clock.advance(6 * 3600)
    desk.down = True
    with pytest.raises(StoreDown):
        await rounds.request_round()
    desk.down = False
    await rounds.request_round()
    assert len(asked) == 4

    late = Schedule(desk, clock, lambda: rules.model_copy(update={"run_on_startup": False}))
    await late.request_round()
    assert len(asked) == 4
    clock.advance(6 * 3600)
    await late.request_round()
    assert len(asked) == 5


async def test_two_workers_make_one_round(database_url: str) -> None:
    """Both ask at their start; one round is made, and one tending, by whoever was first."""
    heard: list[JobOutcome] = []
    tuned = settings(database_url)
    async with bootstrap.create_memory(tuned, embedder=HashEmbedder(), clock=SystemClock()) as memory:
        await keep(memory, "ana")
        async with (
            bootstrap.open_worker(tuned, memory, heard.append) as one,
            bootstrap.open_worker(tuned, memory, heard.append) as two,
        ):
            await asyncio.gather(one.run(drain=True), two.run(drain=True))
            ask(database_url, "update jobs.queue set scheduled_at = now()")
            await asyncio.gather(one.run(drain=True), two.run(drain=True))
    assert Counter(outcome.job.name for outcome in heard) == {"round": 1, "tend": 1}
    assert not any(outcome.error_class for outcome in heard)


def test_two_processes_tend_each_space_once(database_url: str, tmp_path: Path) -> None:
    """Two schedulers begin at the same moment: one round, one run of each space, and of each two memories one, once."""

    async def prepare() -> None:
        async with bootstrap.create_memory(
            settings(database_url), embedder=HashEmbedder(), clock=SystemClock()
        ) as memory:
            for n in range(8):
                twins = [note("The green door is locked at night"), note("The green door is locked at night.")]
                await memory.ingest(scope(f"o{n}"), twins)

    asyncio.run(prepare())
    ask(database_url, "delete from muniment.turns")
    quick = tmp_path / "quick.yaml"
    quick.write_text("session_ledger: {cleanup_interval_seconds: 1}\n")
    environment = os.environ | {"MUNIMENT_DATABASE_URL": database_url, "MUNIMENT_EMBEDDER": "hash-256",
        "MUNIMENT_HOME": str(tmp_path),
                   "MUNIMENT_CONFIG": str(quick)}  # fmt: skip
    with ExitStack() as both:
        workers = [
            both.enter_context(subprocess.Popen([PROGRAM, "work"], env=environment, stdout=subprocess.DEVNULL))
            for _ in range(2)
        ]
        for worker in workers:
            both.enter_context(ended(worker))
        end = time.monotonic() + 40
        while ask(database_url, "select count(*) from muniment.spaces where tended_at is null") != [(0,)]:
            assert time.monotonic() < end
            time.sleep(0.3)
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        assert [worker.wait(20) for worker in workers] == [0, 0]
    runs = "select count(*), count(distinct space_id), sum(same) from muniment.consolidation_runs where status = 'done'"
    assert ask(database_url, runs) == [(8, 8, 8)]
    merged = "select count(*), count(distinct memory_id) from muniment.journal where action = 'MERGE'"
    assert ask(database_url, merged) == [(16, 16)]


async def test_a_round_waits_for_no_other(database_url: str) -> None:
    """While one process looks for what is due, another leaves it to that."""
    async with engine(database_url) as memory:
        await keep(memory, "ana")
        async with await psycopg.AsyncConnection.connect(database_url) as other:
            await other.execute("select pg_advisory_xact_lock(%s)", (0x6D756E69726F756E,))
            assert await memory.jobs.enqueue_due() is None
        assert await memory.jobs.enqueue_due() == 1


async def test_what_is_due(database_url: str) -> None:
    """A space that has changed, once a day; one in which something is due, at once; no other is touched at all."""
    clock = FixedClock(find_slot_start(NOON, SPREAD))
    async with engine(database_url, clock=clock) as memory:
        for owner in ("ana", "ben", "cem"):
            await keep(memory, owner)
        assert await memory.jobs.enqueue_due() == 3
        assert await memory.jobs.enqueue_due() == 0  # they wait already
        assert tends(database_url) == {"ana", "ben", "cem"}
        ask(database_url, "delete from jobs.queue")
        clock.advance(5 * 3600)  # late in the slot
        for owner in ("ana", "ben", "cem"):
            await memory.admin.maintain(scope(owner))
        rows = "select owner_id, xmin::text, tend_at from muniment.spaces order by 1"
        before = ask(database_url, rows)
        for hours in (1, 6, 6):
            clock.advance(hours * 3600)
            assert await memory.jobs.enqueue_due() == 0
        await keep(memory, "ben", "The door is green")
        assert await memory.jobs.enqueue_due() == 0
        clock.advance(6 * 3600)
        assert await memory.jobs.enqueue_due() == 1
        assert tends(database_url) == {"ben"}
        assert [row for row in ask(database_url, rows) if row[0] != "ben"] == [row for row in before if row[0] != "ben"]
        ask(database_url, "delete from jobs.queue")
        await memory.admin.maintain(scope("ben"))
        clock.advance(14 * DAY.total_seconds())
        assert await memory.jobs.enqueue_due() == 0
        clock.advance(46 * DAY.total_seconds())
        assert await memory.jobs.enqueue_due() == 3
        ask(database_url, "delete from jobs.queue")
        assert [(await memory.admin.maintain(scope(owner))).forgotten for owner in ("ana", "ben", "cem")] == [1, 2, 1]
        assert await memory.jobs.enqueue_due() == 0


@pytest.mark.parametrize("ahead", [365 * DAY, HOUR, -HOUR, -365 * DAY])
async def test_a_clock_that_was_wrong_for_an_hour_stops_nothing(database_url: str, ahead: timedelta) -> None:
    """Set forward, or back, and right again: a space that changes is tended within two days, and not in each slot; and
    what was checked in a time that is yet to come takes nothing of the day's pairs."""
    tuned = settings(database_url)
    told = tuned.consolidation.model_copy(update={"per_day": 1})
    clock = FixedClock(find_slot_start(NOON, SPREAD))
    async with engine(database_url, clock=clock, tuned=tuned.model_copy(update={"consolidation": told})) as memory:
        clock.advance(ahead.total_seconds())
        await memory.ingest(scope(), [note("The door is locked at night"), note("The door is locked at night.")])
        done = await memory.admin.maintain(scope())
        assert done.run
        assert done.run.same == 1
        clock.advance(HOUR.total_seconds() - ahead.total_seconds())
        tended = 0
        for n in range(9):  # slots: two days and a bit
            clock.advance(SPREAD.total_seconds())
            await keep(memory, "ana", f"The lamp {n} is brass")
            ask(database_url, "delete from jobs.queue")
            if await memory.jobs.enqueue_due():
                await memory.admin.maintain(scope())
                tended += 1
        assert tended in (2, 3)
        await memory.ingest(scope(), [note("The gate is painted in May"), note("The gate is painted in May.")])
        clock.advance(DAY.total_seconds())
        again = await memory.admin.maintain(scope())
        assert again.run
        assert again.run.checked == 1


async def test_the_hour_of_a_change_of_clocks(database_url: str) -> None:
    """Summer time ends in the database's zone and in the clock's: slots stay six hours apart, and each space has its
    day."""
    clock = FixedClock(datetime(2026, 10, 24, 2, 0, tzinfo=ZoneInfo("Europe/Berlin")))
    ((name,),) = ask(database_url, "select current_database()")
    ask(database_url, f"alter database {name} set timezone = 'Europe/Berlin'")
    async with engine(database_url, clock=clock) as memory:
        slots: list[datetime] = []
        tended = []
        for _ in range(12):
            await keep(memory, "ana", f"The lamp {len(slots)} is brass")
            slots.append(find_slot_start(clock.now(), SPREAD))
            ask(database_url, "delete from jobs.queue")
            if await memory.jobs.enqueue_due():
                await memory.admin.maintain(scope())
                tended.append(len(slots))
            clock.advance(SPREAD.total_seconds())
        assert {after - before for before, after in pairwise(slots)} == {SPREAD}
        assert tended == [1, 5, 9]


async def test_more_spaces_than_a_page(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is enqueued once, at its tenant's time; one whose time is over already is due now."""
    monkeypatch.setattr("muniment.memory.stores.postgres.operation.maintenance._PAGE", 7)
    spaces = [Scope(tenant=f"t{n % 5}", owner=f"o{n}") for n in range(30)]
    clock = FixedClock(find_slot_start(NOON, SPREAD) + 3 * HOUR)
    async with engine(database_url, clock=clock) as memory:
        for one in spaces:
            await memory.conversation.record(one, [said("Hello!")])
        assert await memory.jobs.enqueue_due() == 30
    ahead = "select args ->> 'owner', extract(epoch from scheduled_at - now())::float8 from jobs.queue"
    waits = dict(ask(database_url, ahead))
    for one in spaces:
        wanted = max(timedelta(), compute_stagger(one, SPREAD) - 3 * HOUR).total_seconds()
        assert abs(waits[one.owner] - wanted) < 60
    assert min(waits.values()) <= 0
    assert max(waits.values()) > 600


async def test_what_waits_for_its_hour_is_not_read(database_url: str) -> None:
    """Among thousands of spaces that are tended later in the night a worker finds the one that is due at once."""
    async with engine(database_url) as memory:
        number = await memory.engine.store.jobs.register_worker()
        with psycopg.connect(database_url, autocommit=True) as admin:
            admin.execute("""
                insert into jobs.queue (name, lock, dedup_key, args, scheduled_at)
                select 'tend', n || ':tend:', n || ':tend:',
                  '{"tenant": "t", "owner": "o", "owner_type": "user", "key": ""}',
                  now() + case n when 3000 then '-1 minute' else '1 hour' end::interval
                from generate_series(1, 5000) n""")
        named = {"worker": number, "names": ["tend", "extract"], "own_names": [], "start": "", "end": None}
        async with memory.engine.store._connections.connect() as conn, conn.transaction(force_rollback=True):  # type: ignore[attr-defined]
            await conn.execute("set local role muniment_worker")
            await conn.execute(jobs._JOBS["by_index"])
            for name in ("take_in_order", "take_by_time"):
                asked = "explain (analyze, format json) " + jobs._JOBS[name]
                (told,) = (await (await conn.execute(asked, named)).fetchone()).values()
                assert max(reads(told[0]["Plan"])) < 10, name
        ticket = await memory.engine.store.jobs.take_job(number, ["tend", "extract"])
        assert ticket is not None
        assert await memory.engine.store.jobs.take_job(number, ["tend", "extract"]) is None


async def test_every_slot_has_its_round(database_url: str) -> None:
    """A worker that goes on working asks again and again."""
    heard: list[JobOutcome] = []
    tuned = often(database_url)
    async with (
        bootstrap.create_memory(tuned, embedder=HashEmbedder(), clock=SystemClock()) as memory,
        bootstrap.open_worker(tuned, memory, heard.append) as worker,
    ):
        running = asyncio.create_task(worker.run())
        end = time.monotonic() + 15
        while len(heard) < 2 and time.monotonic() < end:
            await asyncio.sleep(0.05)
        worker.stop()
        await running
    assert [outcome.job.name for outcome in heard[:2]] == ["round", "round"]


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Whatever becomes of the test, the process does not outlive it."""
    try:
        yield
    finally:
        process.kill()


@pytest.mark.timeout(150)
async def test_killed_while_tending(database_url: str, tmp_path: Path) -> None:
    """Kill -9 at random moments of the night shift: in the end every memory is forgotten once, and every old turn
    gone."""
    spaces, each = [scope(f"o{n}") for n in range(12)], 40
    (vector,) = await HashEmbedder().embed_documents(["-"])
    async with engine(database_url) as memory:
        for who in spaces:
            made = [
                StoredMemory(
                    id=MemoryId(uuid4()),
                    kind="episodic",
                    category="activity",
                    text=f"note {n}",
                    created_at=NOON,
                    updated_at=NOON,
                )
                for n in range(each)
            ]
            changes = tuple(Change(action="ADD", after=one, vector=vector) for one in made)
            plan = WritePlan(scope=who, expected_rev=Revision(0), node="face", at=NOON, changes=changes)
            await memory.engine.store.writes.commit(plan)
            await memory.conversation.record(who, [said(f"Hello {n}!") for n in range(3)])
    quick = tmp_path / "quick.yaml"
    quick.write_text(
        "jobs: {stalled_seconds: 1}\nsession_ledger: {cleanup_interval_seconds: 1}\nforgetting: {untouched_days: 1}\n"
        "consolidation: {lease_minutes: 0.05}\n"  # who is killed in a run leaves it open for so long
    )
    environment = os.environ | {"MUNIMENT_DATABASE_URL": database_url, "MUNIMENT_EMBEDDER": "hash-256",
        "MUNIMENT_HOME": str(tmp_path),
                   "MUNIMENT_CONFIG": str(quick)}  # fmt: skip
    left = "select count(*) from muniment.spaces where tended_at is null"
    busy = "select count(*) from jobs.queue where name = 'tend' and status = 'doing'"
    command = [PROGRAM, "work", "-n", "2"]
    with subprocess.Popen(command, env=environment) as doomed, ended(doomed):
        while ask(database_url, busy) == [(0,)]:
            assert doomed.poll() is None
            time.sleep(0.005)
        time.sleep(random.uniform(0, 0.1))
    assert ask(database_url, left) != [(0,)]
    with subprocess.Popen(command, env=environment) as steady, ended(steady):
        while ask(database_url, left) != [(0,)]:
            assert steady.poll() is None
            time.sleep(0.05)
        steady.terminate()
        assert steady.wait() == 0
    assert ask(database_url, left) == [(0,)]
    twice = "select count(*), count(distinct memory_id) from muniment.journal where action = 'TTL'"
    assert ask(database_url, twice) == [(len(spaces) * each,) * 2]
    assert ask(database_url, "select count(*) from muniment.memories where state <> 'soft_deleted'") == [(0,)]
    assert ask(database_url, "select count(*) from muniment.turns") == [(0,)]
