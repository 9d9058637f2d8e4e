"""What may go wrong beside a worker's jobs: its clock, its listener, the one it tells."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import cast

import psycopg
import pytest

from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.domain.jobs import Job, JobName, JobOutcome, JobTicket
from muniment.memory.errors import Busy, ModelTimeout, MunimentError, NotReady
from muniment.memory.flows.background import worker as work
from muniment.memory.flows.background.worker import Worker
from muniment.memory.models.clock import SystemClock
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.ports.jobs import JobQueue
from muniment.testing.fakes import FixedClock
from tests.engine import scope, settings


@pytest.fixture
async def memory(database_url: str) -> AsyncIterator[Memory]:
    """An engine with a model configured, and two turns that wait for it."""
    tuned = settings(database_url, MUNIMENT_MODEL="none", OPENAI_BASE_URL="http://127.0.0.1:1/v1")
    async with bootstrap.create_memory(tuned, embedder=HashEmbedder(), clock=SystemClock()) as opened:
        await opened.engine.store.jobs.enqueue_jobs([Job(name="extract", scope=scope(), key=key) for key in "12"])
        yield opened


def rows(url: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as conn:
        return conn.execute(query).fetchall()


async def test_a_clock_that_is_wrong_does_not_hurry(memory: Memory, database_url: str) -> None:
    """A worker whose clock is a day slow waits as long between two attempts as any other."""
    clock, tries = FixedClock(datetime.now(UTC) - timedelta(days=1)), Counter[str]()

    async def perform(job: Job) -> None:
        tries[job.key] += 1
        raise ModelTimeout

    hired = Worker(
        memory.engine.store.jobs, perform, names=("extract",), clock=clock, rules=memory.engine.settings.jobs
    )
    working = asyncio.create_task(hired.run())
    await asyncio.sleep(2.5)
    hired.stop()
    await asyncio.wait_for(working, 10)
    assert 1 <= tries.total() <= 2
    assert rows(database_url, "select max(attempts) from jobs.queue") == [(tries.total(),)]


async def test_what_breaks_beside_a_job_ends_the_worker(memory: Memory, database_url: str) -> None:
    """As when nobody reads any more what is told: the job is done, the next one waits for another worker."""

    async def perform(job: Job) -> None:
        return

    def heard(outcome: JobOutcome) -> None:
        raise BrokenPipeError

    rules = memory.engine.settings.jobs.model_copy(update={"concurrency": 1})
    hired = Worker(
        memory.engine.store.jobs, perform, names=("extract",), clock=memory.engine.clock, rules=rules, on_outcome=heard
    )
    with pytest.raises(BrokenPipeError):
        await asyncio.wait_for(hired.run(), 10)
    assert rows(database_url, "select status::text from jobs.queue") == [("todo",)]


async def test_a_drain_does_not_end_before_what_was_held_up(memory: Memory, database_url: str) -> None:
    """A job that ends while the queue is asked: the queue still knew it as under way, the worker does not any more."""
    done: list[str] = []

    class Slow:
        """A queue whose answer to the question for the next job comes late."""

        def __getattr__(self, name: str) -> object:
            return getattr(memory.engine.store.jobs, name)

        async def take_job(
            self, worker: int, names: Sequence[JobName], own_names: Sequence[JobName] = ()
        ) -> JobTicket | None:
            found = await memory.engine.store.jobs.take_job(worker, names, own_names)
            await asyncio.sleep(0.0 if found else 0.3)
            return found

    async def perform(job: Job) -> None:
        done.append(job.key)
        await asyncio.sleep(0.45)

    queue = cast("JobQueue", Slow())
    rules = memory.engine.settings.jobs
    hired = Worker(queue, perform, names=("extract",), clock=memory.engine.clock, rules=rules)
    task = asyncio.create_task(hired.run(drain=True))
    while not done:
        await asyncio.sleep(0.01)
    hired._wake_event.set()
    await asyncio.wait_for(task, 10)
    assert len(done) == 2
    assert rows(database_url, "select count(*) from jobs.queue") == [(0,)]


@pytest.mark.parametrize(
    ("error", "wait"), [(NotReady(), 60), (Busy("another process is at it"), 1)], ids=["not ready", "busy"]
)
async def test_what_only_waits_has_not_failed(
    memory: Memory, database_url: str, caplog: pytest.LogCaptureFixture, error: MunimentError, wait: int
) -> None:
    """The job goes back without a word of failure, for a minute or, where another process is at it, for a second; the
    worker goes on with the next."""

    async def perform(job: Job) -> None:
        raise error

    heard: list[JobOutcome] = []
    rules = memory.engine.settings.jobs
    hired = Worker(
        memory.engine.store.jobs, perform, names=("extract",), clock=SystemClock(), rules=rules, on_outcome=heard.append
    )
    await hired.run(drain=True)
    assert [(one.error_class, one.retry_at is None) for one in heard] == [(None, False)]
    assert caplog.records == []
    ((seconds,),) = rows(
        database_url, "select extract(epoch from scheduled_at - now()) from jobs.queue where attempts = 1"
    )
    assert wait - 10 < float(str(seconds)) <= wait


async def test_one_index_at_a_time(memory: Memory) -> None:
    """A second one would only find the lock taken; the other hands do other jobs meanwhile."""
    running, seen, done = Counter[JobName](), list[Counter[JobName]](), Counter[JobName]()

    async def perform(job: Job) -> None:
        running[job.name] += 1
        seen.append(running.copy())
        await asyncio.sleep(0.2)
        running[job.name] -= 1
        done[job.name] += 1

    queue = memory.engine.store
    await queue.jobs.enqueue_jobs([Job(name="index", scope=scope(f"user {n}")) for n in range(3)])
    rules = memory.engine.settings.jobs
    await Worker(queue.jobs, perform, names=("extract", "index"), clock=SystemClock(), rules=rules).run(drain=True)
    assert done == {"extract": 2, "index": 3}
    assert max(one["index"] for one in seen) == 1
    assert any(one["index"] and one["extract"] for one in seen)


async def test_what_does_not_let_go_keeps_nobody(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that waits for somebody who does not answer, also when it is to end, does not keep the worker."""
    monkeypatch.setattr(work, "_FAREWELL_SECONDS", 0.2)
    begun = asyncio.Event()

    async def perform(job: Job) -> None:
        begun.set()
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(30)

    hired = Worker(
        memory.engine.store.jobs, perform, names=("extract",), clock=SystemClock(), rules=memory.engine.settings.jobs
    )
    working = asyncio.create_task(hired.run())
    await asyncio.wait_for(begun.wait(), 10)
    hired.stop()
    await asyncio.wait_for(working, 5)
