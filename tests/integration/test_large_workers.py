"""Large spaces get their indexes from whoever has a worker, once, also after a kill; nobody waits for it."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import psycopg
import pytest

from muniment.memory import bootstrap
from muniment.memory.config.settings import Settings
from muniment.memory.domain.jobs import JobOutcome
from muniment.memory.flows.background.maintenance import PeriodicEnqueueing
from muniment.memory.models.clock import SystemClock
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.stores.postgres.schema import large_spaces
from tests.engine import scope, settings
from tests.faces.conftest import PROGRAM
from tests.integration.test_large import (
    ANA,
    BEN,
    CEM,
    CENTRES,
    MODEL,
    WORDS,
    added,
    filled,
    made,
    opened,
    own,
    plan,
    reader,
    search,
)

__all__ = ["filled", "own"]
FROM = 50  # Ana and Ben have indexes, Cem has 60 memories
OF_CEM = large_spaces.build_index_name(CEM.space, MODEL)
BUILDING = "select from pg_stat_progress_create_index where relid = 'muniment.memories'::regclass"


def tune(url: str) -> Settings:
    own = settings(url)
    return own.model_copy(
        update={
            "recall": own.recall.model_copy(update={"index_from": FROM}),
            "jobs": own.jobs.model_copy(update={"stalled_seconds": 1.0}),
            # The memories are of a fixed day: none is to be forgotten for its age.
            "forgetting": own.forgetting.model_copy(update={"untouched_days": 100_000}),
        }
    )


async def wait_until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.02)


def list_indexes(url: str) -> dict[str, bool]:
    with psycopg.connect(url) as admin:
        found = admin.execute(
            "select relname, indisvalid from pg_index join pg_class c on c.oid = indexrelid "
            "where relname like 'memories_near_%'"
        )
        return dict(found.fetchall())


async def test_two_workers_make_indexes_once(own: str) -> None:
    """Nobody asks: two engines with a worker each are enough. A second job finds the indexes made."""
    heard: list[JobOutcome] = []
    tuned = tune(own)
    before = list_indexes(own)
    async with AsyncExitStack() as both:
        workers = []
        for _ in range(2):
            memory = await both.enter_async_context(
                bootstrap.create_memory(tuned, embedder=HashEmbedder(), clock=SystemClock())
            )
            workers.append(await both.enter_async_context(bootstrap.open_worker(tuned, memory, heard.append)))
        await asyncio.gather(*(worker.run(drain=True) for worker in workers))
        await asyncio.gather(*(worker.run(drain=True) for worker in workers))
    assert {one.error_class for one in heard if one.job.name == "index"} == {None}
    assert list_indexes(own) == before | {OF_CEM: True}
    with psycopg.connect(own) as admin:
        of = "select count(*) from muniment.postings where space_id = %s"
        assert admin.execute(of, (CEM.space,)).fetchone() != (0,)


async def test_a_space_that_grows_later_is_found(own: str) -> None:
    """A worker that runs looks again."""
    store = opened(own)
    async with bootstrap.create_memory(tune(own), embedder=HashEmbedder(), clock=SystemClock()) as memory:
        await store.maintenance.index_space(CEM, FROM)
        looking = asyncio.create_task(PeriodicEnqueueing(memory.jobs.enqueue_overgrown, period=0.05).run())
        await asyncio.sleep(0.2)
        assert await memory.jobs.count_jobs() == {}
        dee = scope("dee")
        await store.writes.commit(plan(dee, 0, *added(made("dee", FROM))))
        with psycopg.connect(own, autocommit=True) as admin:
            waiting = "select args ->> 'owner' from jobs.queue where name = 'index'"
            await wait_until(lambda: admin.execute(waiting).fetchall() == [("dee",)])
        looking.cancel()
    await store.close()


async def test_what_cannot_have_indexes_is_left_alone(own: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a space that has changed often and has few memories, nor one beyond the number that may have indexes."""
    store = opened(own)
    with psycopg.connect(own, autocommit=True) as admin:
        admin.execute("update muniment.spaces set rev = 1000000 where space_id = %s", (CEM.space,))
        assert await store.maintenance.find_spaces_to_index(61) == []
        assert [one.owner for one in await store.maintenance.find_spaces_to_index(60)] == ["cem"]
        monkeypatch.setattr(large_spaces, "INDEXES", 2)
        assert await store.maintenance.find_spaces_to_index(60) == []
    await store.close()


async def test_a_space_that_has_shrunk_loses_its_indexes(own: str) -> None:
    """At the first look after 1,000 changes that finds it below the number; until then it keeps them."""
    store = opened(own)
    tuned = tune(own)
    tuned = tuned.model_copy(update={"recall": tuned.recall.model_copy(update={"index_from": 1_000})})
    async with bootstrap.create_memory(tuned, embedder=HashEmbedder(), clock=SystemClock()) as memory:
        for changes, lost in ((999, False), (1_001, True)):
            with psycopg.connect(own, autocommit=True) as admin:
                admin.execute(
                    "update muniment.spaces set rev = indexed_rev + %s where space_id = %s", (changes, BEN.space)
                )
            async with bootstrap.open_worker(tuned, memory) as worker:
                await worker.run(drain=True)
            assert (large_spaces.build_index_name(BEN.space, MODEL) not in list_indexes(own)) == lost
        assert large_spaces.build_index_name(ANA.space, MODEL) in list_indexes(own)
        seen = (await store.reads.read_snapshot(reader(BEN), search(WORDS[0], CENTRES[1]))).hits
        assert len(seen) == 24
    await store.close()


@pytest.mark.timeout(90)
async def test_killed_in_the_middle_of_a_build(own: str, tmp_path: Path) -> None:
    """Reads and writes go on while it is built; the next worker makes what the killed one has left undone."""
    config = tmp_path / "quick.yaml"
    config.write_text(
        f"recall: {{index_from: {FROM}}}\njobs: {{stalled_seconds: 1}}\nforgetting: {{untouched_days: 100000}}\n"
    )
    environment = os.environ | {
        "MUNIMENT_DATABASE_URL": own,
        "MUNIMENT_EMBEDDER": MODEL,
        "MUNIMENT_HOME": str(tmp_path),
        "MUNIMENT_CONFIG": str(config),
    }
    before, store, tuned = list_indexes(own), opened(own), tune(own)
    with psycopg.connect(own, autocommit=True) as admin, psycopg.connect(own) as writing:
        # A build waits for whoever is writing when it begins.
        writing.execute("update muniment.memories set importance = importance where space_id = %s", (ANA.space,))
        with subprocess.Popen([PROGRAM, "work"], env=environment, stdout=subprocess.DEVNULL) as killed:
            try:
                await wait_until(lambda: admin.execute(BUILDING).fetchall())
                async with asyncio.timeout(5):
                    await store.writes.commit(plan(CEM, 60, *added(made("cem", 61)[60:])))
                    assert (await store.reads.read_snapshot(reader(CEM), search(WORDS[0], CENTRES[1]))).hits
            finally:
                killed.send_signal(signal.SIGKILL)
        assert not list_indexes(own).get(OF_CEM)
        async with (
            bootstrap.create_memory(tuned, embedder=HashEmbedder(), clock=SystemClock()) as memory,
            bootstrap.run_worker(tuned, memory),
        ):
            await asyncio.sleep(1)
            writing.rollback()
            await wait_until(lambda: not admin.execute("select from jobs.queue where name = 'index'").fetchall())
    await store.close()
    assert list_indexes(own) == before | {OF_CEM: True}
    with psycopg.connect(own) as admin:
        of = "select indexed_rev from muniment.spaces where space_id = %s"
        assert admin.execute(of, (CEM.space,)).fetchone() == (61,)
