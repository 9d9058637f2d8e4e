"""A database that goes away under the night shift: nothing is lost, nothing is done twice, and the record says what
happened."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from threading import Event

import psycopg
from pydantic import SecretStr

from muniment.memory import bootstrap
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.jobs import Job
from muniment.memory.errors import StoreError
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.memory.stores.postgres.embedded import server
from muniment.testing.batch_server import ScriptedBatches
from tests.engine import note, scope
from tests.integration.test_batch import ANA, CONFIG, THINGS, judge, told

WHOSE = [scope(f"user {n}") for n in range(6)]
DONE = "select count(*) filter (where status = 'done'), count(*) from muniment.consolidation_runs"
MERGED = "select count(*) from muniment.memories where state = 'superseded'"


async def test_a_database_that_is_killed_under_a_batch(home: Path, tmp_path: Path) -> None:
    """Kill -9 of the server while a worker has the answers in its hands: it does what they say, and pays for them,
    once."""
    came, go_on = Event(), Event()

    def hold(method: str, path: str) -> None:
        if method == "GET" and path.endswith("/content") and not came.is_set():
            came.set()
            go_on.wait(30)

    file = tmp_path / "batch.yaml"
    file.write_text(CONFIG)
    tuned = load_settings({"MUNIMENT_HOME": str(home), "MUNIMENT_EMBEDDER": "hash-256", "MUNIMENT_CONFIG": str(file)})
    with ScriptedBatches(judge, hold=hold) as endpoint:
        model = OpenAIChat("tiny-1", api_key=SecretStr("k"), base_url=endpoint.base_url, max_retries=0)
        async with (
            bootstrap.create_memory(tuned, embedder=HashEmbedder(), model=model) as memory,
            bootstrap.open_worker(tuned, memory, with_schedule=False) as hired,
        ):
            await memory.ingest(ANA, [note(text) for thing in THINGS[:3] for text in told(thing)])
            run = await memory.admin.consolidate(ANA)
            assert run is not None
            found = await server.find_server(home)
            assert found is not None
            address = await server.ensure_server(home)
            with psycopg.connect(address) as admin:
                admin.execute("update jobs.queue set scheduled_at = now()")
            working = asyncio.create_task(hired.run())
            assert await asyncio.to_thread(came.wait, 20)
            os.kill(found["pid"], signal.SIGKILL)
            go_on.set()
            await server.ensure_server(home)
            async with asyncio.timeout(45):
                while await memory.jobs.count_jobs():
                    await asyncio.sleep(0.1)
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            (over,) = await memory.admin.list_runs(ANA)
            assert (over.status, over.same, len(await memory.list(ANA))) == ("done", 3, 3)
            books = await memory.admin.read_usage(ANA, 2)
            assert [(one.requests, one.micros) for one in books.lines] == [(1, over.micros)]
            assert list(books.days.values()) == [(over.input_tokens + over.output_tokens, over.micros)]
            assert endpoint.files == {}


async def test_a_database_that_is_killed_under_a_night(home: Path) -> None:
    """Kill -9 of the server between two steps of one space's run and while a worker tends the others: when it is back
    every space is tended, each pair made one exactly once, and the run that was cut off says so or is done."""
    tuned = load_settings({"MUNIMENT_HOME": str(home), "MUNIMENT_EMBEDDER": "hash-256"})
    tuned = tuned.model_copy(
        update={
            "jobs": tuned.jobs.model_copy(update={"stalled_seconds": 1.5, "concurrency": 2}),
            "consolidation": tuned.consolidation.model_copy(update={"lease_minutes": 0.02}),
        }
    )
    async with (
        bootstrap.create_memory(tuned, embedder=HashEmbedder()) as memory,
        bootstrap.open_worker(tuned, memory, with_schedule=False) as hired,
    ):
        for who in WHOSE:
            await memory.ingest(
                who, [note("The green door is locked at night"), note("The green door is locked at night.")]
            )
        begun = await memory.admin.begin_run(WHOSE[0])
        assert begun is not None
        cut_off, portions = await memory.admin.survey_run(begun)
        await memory.engine.store.jobs.enqueue_jobs([Job(name="tend", scope=who) for who in WHOSE])
        working = asyncio.create_task(hired.run())
        found = await server.find_server(home)
        assert found is not None
        os.kill(found["pid"], signal.SIGKILL)
        address = await server.ensure_server(home)
        try:  # it goes on where it was, unless the worker was faster to give it up
            cut_off, findings = await memory.admin.check_run(cut_off, portions[0])
            await memory.admin.end_run(await memory.admin.apply_run(cut_off, findings))
        except StoreError:
            pass
        async with asyncio.timeout(45):
            while await memory.jobs.count_jobs():
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
