"""A database that goes away under the night shift: nothing is lost, nothing is done twice, and the record says what happened."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import psycopg

from muniment.memory import bootstrap
from muniment.memory.errors import StoreError
from muniment.memory.models.fakes import HashEmbedder
from muniment.memory.plan import Job
from muniment.memory.settings import load
from muniment.memory.stores import server
from tests.engine import note, scope

WHOSE = [scope(f"user {n}") for n in range(6)]
DONE = "select count(*) filter (where status = 'done'), count(*) from muniment.consolidation_runs"
MERGED = "select count(*) from muniment.memories where state = 'superseded'"


async def test_a_database_that_is_killed_under_a_night(home: Path) -> None:
    """Kill -9 of the server between two steps of one space's run and while a worker tends the others: when it is back every
    space is tended, each pair made one exactly once, and the run that was cut off says so or is done."""
    tuned = load({"MUNIMENT_HOME": str(home), "MUNIMENT_EMBEDDER": "hash-256"})
    tuned = tuned.model_copy(
        update={
            "jobs": tuned.jobs.model_copy(update={"stalled_seconds": 1.5, "concurrency": 2}),
            "consolidation": tuned.consolidation.model_copy(update={"lease_minutes": 0.02}),
        }
    )
    async with (
        bootstrap.memory(tuned, embedder=HashEmbedder()) as memory,
        bootstrap.worker(tuned, memory, rounds=False) as hired,
    ):
        for who in WHOSE:
            await memory.ingest(
                who, [note("The green door is locked at night"), note("The green door is locked at night.")]
            )
        begun = await memory.begin_run(WHOSE[0])
        assert begun is not None
        cut_off, portions = await memory.survey_run(begun)
        await memory.house.store.enqueue([Job(name="tend", scope=who) for who in WHOSE])
        working = asyncio.create_task(hired.run())
        found = await server.running(home)
        assert found is not None
        os.kill(found["pid"], signal.SIGKILL)
        address = await server.ensure(home)
        try:  # it goes on where it was, unless the worker was faster to give it up
            cut_off, findings = await memory.check_run(cut_off, portions[0])
            await memory.end_run(await memory.apply_run(cut_off, findings))
        except StoreError:
            pass
        async with asyncio.timeout(45):
            while await memory.waiting():
                await asyncio.sleep(0.1)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        with psycopg.connect(address) as admin:
            assert admin.execute(MERGED).fetchone() == (len(WHOSE),)
            done, runs = admin.execute(DONE).fetchone() or (0, 0)
            assert done >= len(WHOSE)
            interrupted = "select count(*) from muniment.consolidation_runs where status = 'interrupted'"
            assert admin.execute(interrupted).fetchone() == (runs - done,)
            untended = "select count(*) from muniment.spaces where tended_at is null"
            assert admin.execute(untended).fetchone() == (0,)
