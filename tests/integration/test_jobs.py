"""Jobs in a real queue: enqueued with their turn, done in order, tried again, and never lost."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.jobs import Job, JobOutcome
from muniment.memory.domain.plan import WritePlan
from muniment.memory.errors import (
    BadExtraction,
    BadInput,
    Conflict,
    ModelTimeout,
    ModelUnavailable,
    NotFound,
    OverBudget,
    StoreError,
)
from muniment.memory.flows.background.worker import Worker
from muniment.memory.models.clock import SystemClock
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.stores.postgres.embedded import server
from muniment.memory.stores.postgres.schema.migrate import apply_migrations
from muniment.testing import FixedClock, ScriptedOpenAI
from tests.engine import NOON, said, scope, settings

SAID = ["I live in Porto.", "I like sailing.", "I work as a carpenter.", "I moved to Lisbon."]
NOW = "select clock_timestamp() as at"  # by the queue's own clock
Perform = Callable[[Job], Awaitable[None]]


@pytest.fixture
async def memory(database_url: str) -> AsyncIterator[Memory]:
    """An engine with a model configured, on a clock that runs: the queue has the database's."""
    tuned = settings(database_url, MUNIMENT_MODEL="none", OPENAI_BASE_URL="http://127.0.0.1:1/v1")
    async with bootstrap.create_memory(tuned, embedder=HashEmbedder(), clock=SystemClock()) as opened:
        yield opened


def worker(memory: Memory, perform: Perform, told: list[JobOutcome] | None = None, **rules: Any) -> Worker:
    quick = memory.engine.settings.jobs.model_copy(update=rules)
    heard = None if told is None else told.append
    queue, clock = memory.engine.store.jobs, memory.engine.clock
    return Worker(queue, perform, names=("extract", "expire"), clock=clock, rules=quick, on_outcome=heard)


def rows(url: str, query: str = "select * from jobs.queue order by id") -> list[dict[str, Any]]:
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as conn:
        return conn.execute(query).fetchall()


def hurry(url: str) -> None:
    """What waits for its time is due now."""
    with psycopg.connect(url) as conn:
        conn.execute("update jobs.queue set scheduled_at = now()")


@asynccontextmanager
async def running(hired: Worker) -> AsyncIterator[None]:
    task = asyncio.create_task(hired.run())
    try:
        yield
    finally:
        hired.stop()
        await asyncio.wait_for(task, 5)


async def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        await asyncio.sleep(0.02)
    pytest.fail("it did not happen in time")


async def test_a_turn_and_its_job_are_one_transaction(memory: Memory, database_url: str) -> None:
    """Where one of them fails there is neither."""
    store, who = memory.engine.store, scope()
    wrong = replace(said("I like tea."), source="nobody")  # type: ignore[arg-type]  # what no client can say
    with pytest.raises(StoreError):
        await store.ledger.record_turns(who, [said(SAID[0]), wrong], [Job(name="extract", scope=who, key="1")])
    assert rows(database_url, "select * from muniment.turns") == []
    assert rows(database_url) == []
    plan = WritePlan(
        scope=who, expected_rev=Revision(7), node="hotpath", at=NOON, jobs=(Job(name="expire", scope=who),)
    )
    with pytest.raises(Conflict):
        await store.writes.commit(plan)
    assert rows(database_url) == []
    await store.writes.commit(replace(plan, expected_rev=Revision(0)))
    assert [row["name"] for row in rows(database_url)] == ["expire"]


async def test_one_job_a_session(memory: Memory, database_url: str) -> None:
    """Eight turns that may say something are looked at together, however often they are recorded; a greeting and a
    reply are not among them."""
    who = scope("ana", project="atlas")
    building = "select args, lock, dedup_key from jobs.queue where name = 'build'"
    for some in (6, 6, 7):
        assert rows(database_url, building) == []
        turns = [said(f"I like number {n}.", key=str(n)) for n in range(some)]
        await memory.conversation.record(who, [said("Hello!", key="hello"), *turns])
    (row,) = rows(database_url, building)
    assert row["args"] == {"tenant": "default", "owner": "ana", "owner_type": "user", "key": "A"}
    assert (row["lock"], row["dedup_key"]) == (str(who.space), f"{who.space}:build:A")


async def test_without_a_model_nothing_is_enqueued_and_nothing_is_forgotten(database_url: str) -> None:
    """A model that is configured later finds every turn that it has yet to look at, once."""
    async with bootstrap.create_memory(settings(database_url), embedder=HashEmbedder()) as plain:
        for owner in ("ana", "ben"):
            turns = [said(text, key=f"{owner}{n}") for n, text in enumerate([*SAID, "Hello!"])]
            await plain.conversation.record(scope(owner), turns)
        assert rows(database_url) == []
        assert await plain.jobs.enqueue_missed() == 0
    tuned = settings(database_url, MUNIMENT_MODEL="none")
    async with bootstrap.create_memory(tuned, embedder=HashEmbedder()) as modern:
        assert await modern.jobs.enqueue_missed() == 2 * len(SAID)
        assert await modern.jobs.enqueue_missed() == 0
        assert (await modern.jobs.count_jobs())["build_missed"] == {"due": 2, "later": 0, "running": 0}
        number = await modern.engine.store.jobs.register_worker()
        assert await modern.engine.store.jobs.take_job(number, ["build_missed"])
        assert await modern.jobs.enqueue_missed() == 0


async def test_two_workers_keep_the_order_of_each_space(memory: Memory) -> None:
    """Every job is done once; those of one space one after the other as they came, those of several side by side."""
    owners, each = ("ana", "ben", "cem"), 6
    for n in range(each):
        for owner in owners:
            await memory.engine.store.jobs.enqueue_jobs([Job(name="extract", scope=scope(owner), key=str(n))])
    done: defaultdict[str, list[str]] = defaultdict(list)
    inside: set[str] = set()
    together = asyncio.Barrier(len(owners))

    async def perform(job: Job) -> None:
        assert job.scope.owner not in inside
        inside.add(job.scope.owner)
        if job.key == "0":
            await asyncio.wait_for(together.wait(), 20)
        inside.remove(job.scope.owner)
        done[job.scope.owner].append(job.key)

    await asyncio.gather(*(worker(memory, perform).run(drain=True) for _ in range(2)))
    while await memory.jobs.count_jobs():
        await worker(memory, perform).run(drain=True)
    assert done == {owner: [str(n) for n in range(each)] for owner in owners}


async def test_a_failure_holds_back_its_space_and_no_other(memory: Memory, database_url: str) -> None:
    """The job of a model that is down is tried again before the later ones of its space."""
    store, told = memory.engine.store, list[JobOutcome]()
    for owner, key in (("ana", "1"), ("ana", "2"), ("ben", "3")):
        await store.jobs.enqueue_jobs([Job(name="extract", scope=scope(owner), key=key)])
    done: list[str] = []

    async def perform(job: Job) -> None:
        if job.key == "1" and len(told) < 3:
            raise ModelUnavailable("down")
        done.append(job.key)

    await worker(memory, perform, told).run(drain=True)
    assert done == ["3"]
    assert {one.error_class for one in told} == {None, "ModelUnavailable"}
    assert rows(database_url, "select * from jobs.slots") == []  # no table grows with the attempts
    for _ in range(2):
        hurry(database_url)
        await worker(memory, perform, told).run(drain=True)
    assert done == ["3", "1", "2"]
    assert rows(database_url) == []
    assert rows(database_url, "select * from jobs.workers") == []


@pytest.mark.parametrize(
    ("error", "passes"), [(BadExtraction("odd"), True), (KeyError("bug"), True), (ModelTimeout(), False)]
)
async def test_what_fails_by_its_own_fault_lets_others_pass(
    memory: Memory, database_url: str, error: Exception, passes: bool
) -> None:
    """After five bad answers, or a defect, the rest of the space goes on; a slow model is waited for in order."""
    for key in "12":
        await memory.engine.store.jobs.enqueue_jobs([Job(name="extract", scope=scope(), key=key)])
    done: list[str] = []

    async def perform(job: Job) -> None:
        if job.key == "1":
            raise error
        done.append(job.key)

    for tries in range(1, 7):
        await worker(memory, perform).run(drain=True)
        assert bool(done) == (passes and tries >= 5)
        hurry(database_url)
    (left, *_) = rows(database_url)
    assert (left["args"]["key"], left["attempts"], left["status"]) == ("1", 6, "todo")


async def test_over_budget_waits_for_the_next_day(memory: Memory, database_url: str) -> None:
    """Not before the next midnight (UTC)."""
    await memory.engine.store.jobs.enqueue_jobs([Job(name="extract", scope=scope(), key="1")])

    async def perform(job: Job) -> None:
        raise OverBudget

    store, rules = memory.engine.store, memory.engine.settings.jobs
    before = rows(database_url, NOW)[0]["at"]
    await Worker(store.jobs, perform, names=("extract",), clock=FixedClock(NOON), rules=rules).run(drain=True)
    (row,) = rows(database_url)
    assert before <= row["scheduled_at"] - timedelta(hours=12) <= rows(database_url, NOW)[0]["at"]


async def test_retry_after_is_honoured(database_url: str) -> None:
    """A provider that asks for 40 seconds gets them; the turn stays in the queue."""
    with ScriptedOpenAI(fail="rate_limit", retry_after=40) as model:
        tuned = settings(database_url, MUNIMENT_MODEL="m", OPENAI_API_KEY="k", OPENAI_BASE_URL=model.base_url)
        tuned = tuned.model_copy(update={"model": tuned.model.model_copy(update={"max_retries": 0})})
        told: list[JobOutcome] = []
        async with (
            bootstrap.create_memory(tuned, embedder=HashEmbedder()) as memory,
            bootstrap.open_worker(tuned, memory, told.append, with_schedule=False) as hired,
        ):
            await memory.conversation.record(scope(), [said(text) for text in (SAID * 8)[:8]])
            before = rows(database_url, NOW)[0]["at"]
            await hired.run(drain=True)
    (outcome,) = told
    assert outcome.error_class == "ModelRateLimited"
    (row,) = rows(database_url, "select * from jobs.queue where name = 'build'")
    assert before <= row["scheduled_at"] - timedelta(seconds=40) <= rows(database_url, NOW)[0]["at"]


async def test_what_is_gone_is_dropped(memory: Memory, database_url: str) -> None:
    """A job about a turn that is in no ledger any more leaves the queue; an unknown job's name is refused."""
    told: list[JobOutcome] = []
    await memory.engine.store.jobs.enqueue_jobs([Job(name="extract", scope=scope(), key=str(said("gone").id))])
    await worker(memory, memory.jobs.perform_job, told).run(drain=True)
    assert [(one.error_class, one.retry_at) for one in told] == [(NotFound.__name__, None)]
    assert rows(database_url) == []
    with pytest.raises(BadInput):
        await memory.jobs.perform_job(Job(name="dance", scope=scope()))  # type: ignore[arg-type]


@pytest.mark.parametrize("way", ["stop", "cancel"])
async def test_a_worker_that_stops_gives_back_what_it_holds(memory: Memory, database_url: str, way: str) -> None:
    """At once, without waiting for the model; the attempt does not count."""
    await memory.engine.store.jobs.enqueue_jobs([Job(name="extract", scope=scope(), key="1")])
    begun = asyncio.Event()

    async def perform(job: Job) -> None:
        begun.set()
        await asyncio.sleep(60)

    hired = worker(memory, perform)
    task = asyncio.create_task(hired.run())
    await asyncio.wait_for(begun.wait(), 10)
    assert (await memory.jobs.count_jobs())["extract"]["running"] == 1
    (hired.stop if way == "stop" else task.cancel)()
    await asyncio.wait([task], timeout=2)
    assert task.done()
    (row,) = rows(database_url)
    assert (row["status"], row["attempts"], row["worker_id"]) == ("todo", 0, None)


async def test_the_jobs_of_a_dead_worker_are_put_back(memory: Memory, database_url: str) -> None:
    """Those of a living one are not; a twin that was enqueued meanwhile does the work of the dead one's."""
    store = memory.engine.store
    jobs = [Job(name="extract", scope=scope(owner), key="1") for owner in ("ana", "ben")]
    await store.jobs.enqueue_jobs(jobs)
    number = await store.jobs.register_worker()
    held = [await store.jobs.take_job(number, ["extract"]) for _ in jobs]
    assert all(held)
    assert await store.jobs.requeue_abandoned(60) == 0
    await store.jobs.enqueue_jobs(jobs[:1])
    assert await store.jobs.requeue_abandoned(0) == 1
    assert await store.jobs.record_heartbeat(number) is False
    assert [(row["status"], row["args"]["owner"]) for row in rows(database_url)] == [("todo", "ben"), ("todo", "ana")]


async def test_a_twin_takes_over(memory: Memory, database_url: str) -> None:
    """A job that is enqueued again while it runs, and fails, waits once."""
    store, job = memory.engine.store, Job(name="extract", scope=scope(), key="1")
    await store.jobs.enqueue_jobs([job])

    async def perform(_: Job) -> None:
        await store.jobs.enqueue_jobs([job])
        raise ModelTimeout

    await worker(memory, perform).run(max_jobs=1)
    assert [row["status"] for row in rows(database_url)] == ["todo"]


async def test_what_waits_for_its_hour_holds_nothing_up(memory: Memory) -> None:
    """A job for tomorrow lets later ones of its space pass."""
    late = datetime.now(UTC) + timedelta(days=1)
    await memory.engine.store.jobs.enqueue_jobs([Job(name="expire", scope=scope(), key="1", at=late)])
    await memory.engine.store.jobs.enqueue_jobs(
        [Job(name="extract", scope=scope(), key="2"), Job(name="expire", scope=scope())]
    )
    done: list[str] = []

    async def perform(job: Job) -> None:
        done.append(job.key)

    await worker(memory, perform).run(drain=True)
    assert sorted(done) == ["", "2"]


async def test_a_job_is_begun_when_it_comes(memory: Memory) -> None:
    """A worker that has nothing to do hears of a new job; it does not have to look."""
    done = asyncio.Event()

    async def perform(job: Job) -> None:
        done.set()

    async with running(worker(memory, perform)):
        await asyncio.sleep(0.5)
        started = asyncio.get_running_loop().time()
        await memory.engine.store.jobs.enqueue_jobs([Job(name="extract", scope=scope(), key="1")])
        await asyncio.wait_for(done.wait(), 10)
        assert asyncio.get_running_loop().time() - started < 2.0


async def test_a_lost_connection_costs_nothing(memory: Memory, database_url: str) -> None:
    """The server throws everybody out, twice, while jobs are under way: the worker goes on, and every job is done."""
    keys = [str(n) for n in range(12)]
    jobs = [Job(name="extract", scope=scope(f"u{n}"), key=key) for n, key in enumerate(keys)]
    await memory.engine.store.jobs.enqueue_jobs(jobs)
    done: set[str] = set()

    async def perform(job: Job) -> None:
        await asyncio.sleep(0.1)
        done.add(job.key)

    async with running(worker(memory, perform, stalled_seconds=1.0, concurrency=2)):
        for count in (2, 6):
            await until(lambda count=count: len(done) >= count)  # type: ignore[misc]
            rows(
                database_url,
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid()",
            )
        await until(lambda: done == set(keys) and rows(database_url) == [])


async def test_a_killed_database_costs_nothing(home: Path) -> None:
    """Kill -9 of the server while jobs are under way: the worker starts it again, and every job is done."""
    tuned = load_settings({"MUNIMENT_HOME": str(home), "MUNIMENT_EMBEDDER": "hash-256", "MUNIMENT_MODEL": "none"})
    tuned = tuned.model_copy(update={"jobs": tuned.jobs.model_copy(update={"stalled_seconds": 1.5, "concurrency": 2})})
    done: set[str] = set()

    async def perform(job: Job) -> None:
        await asyncio.sleep(0.2)
        done.add(job.key)

    async with (
        bootstrap.create_memory(tuned, embedder=HashEmbedder()) as memory,
        bootstrap.open_worker(tuned, memory, with_schedule=False) as hired,
    ):
        keys = [str(n) for n in range(8)]
        await memory.engine.store.jobs.enqueue_jobs(
            [Job(name="extract", scope=scope(f"u{key}"), key=key) for key in keys]
        )
        hired._perform = perform
        async with running(hired):
            await until(lambda: len(done) >= 2)
            found = await server.find_server(home)
            assert found is not None
            os.kill(found["pid"], signal.SIGKILL)
            await until(lambda: done == set(keys), 45)
            address = await server.ensure_server(home)
            await until(lambda: rows(address) == [])


async def test_the_tables_are_made_once(empty_database_url: str) -> None:
    """Four processes that start at once make them once, in `jobs` and nowhere else."""
    await asyncio.gather(*(apply_migrations(empty_database_url) for _ in range(4)))
    named = "select schemaname, tablename from pg_tables where tablename in ('queue', 'slots', 'workers') order by 2"
    found = [(row["schemaname"], row["tablename"]) for row in rows(empty_database_url, named)]
    assert found == [("jobs", table) for table in ("queue", "slots", "workers")]
    wrong = "select proname from pg_proc where pronamespace = 'jobs'::regnamespace and proconfig is null"
    assert rows(empty_database_url, wrong) == []
