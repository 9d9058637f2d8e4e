"""Kill -9 of a process that hands a batch over, or collects it, at each step: nothing is lost, applied or paid for
twice."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

import psycopg
import pytest

from muniment.memory.domain.consolidation import Run
from muniment.memory.domain.jobs import Job
from muniment.memory.errors import NotReady
from muniment.memory.models.clock import SystemClock
from muniment.memory.ports.clock import Clock
from muniment.testing.batch_server import ScriptedBatches
from muniment.testing.fakes import FixedClock
from tests.engine import note
from tests.faces.conftest import PROGRAM
from tests.integration.test_batch import ANA, CONFIG, THINGS, judge, place_at, told

HERE = 77_077  # the lock at which a process that is going to be killed waits
STOP = """
create function public.stop_here() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared({here});
  return new;
end $$;
create trigger a_stop before {event} for each row {when} execute function public.stop_here()
"""
# In this database: another test may hold its own process with the same number.
WAITS = """select l.pid from pg_locks l join pg_database d on d.oid = l.database
  where d.datname = current_database() and l.locktype = 'advisory' and l.objid = %s and not l.granted"""
Kill = Callable[[subprocess.Popen[bytes]], None]


class Night:
    """A space whose questions are with a batch endpoint, and processes that are killed over it."""

    def __init__(self, url: str, file: Path, server: ScriptedBatches) -> None:
        self.url, self.file, self.server = url, file, server
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MUNIMENT_")}
        self.environment = kept | {
            "MUNIMENT_DATABASE_URL": url, "MUNIMENT_EMBEDDER": "hash-256", "MUNIMENT_CONFIG": str(file),
            "MUNIMENT_MODEL": "tiny-1", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.base_url,
        }  # fmt: skip

    async def begin(self, *, hand_over: bool) -> None:
        async with place_at(self.url, self.file, self.server, SystemClock()) as memory:
            await memory.ingest(ANA, [note(text) for thing in THINGS[:3] for text in told(thing)])
            if hand_over:
                assert await memory.admin.consolidate(ANA)

    async def finish(self, clock: Clock | None = None) -> tuple[Run, int, list[tuple[int, ...]]]:
        """The job until it is done: the record, the memories that are left, and the books' lines and days."""
        async with place_at(self.url, self.file, self.server, clock or SystemClock()) as memory:
            (run,) = await memory.admin.list_runs(ANA)
            for _ in range(3):
                try:
                    await memory.jobs.perform_job(Job(name="collect", scope=ANA, key=str(run.id)))
                except NotReady:
                    continue
                break
            books = await memory.admin.read_usage(ANA, 2)
            lines = [(sum(one.requests for one in books.lines), sum(one.input_tokens for one in books.lines),
                      sum(one.output_tokens for one in books.lines),
                      sum(one.micros for one in books.lines))]  # fmt: skip
            days = [tuple(sum(one) for one in zip(*books.days.values(), strict=True))]
            return (await memory.admin.list_runs(ANA))[0], len(await memory.list(ANA)), lines + days

    def due(self) -> None:
        """The job need not wait for its time, nor for another."""
        with psycopg.connect(self.url) as conn:
            conn.execute("delete from muniment.turns")  # a worker would learn from them first
            conn.execute("delete from jobs.queue where name <> 'collect'")
            conn.execute("update jobs.queue set scheduled_at = now()")

    def killed_at(self, arguments: list[str], event: str, when: str = "") -> None:
        """Run the program until a statement of it comes to this event in the database, and kill it there."""
        with psycopg.connect(self.url, autocommit=True) as conn:
            conn.execute(STOP.format(here=HERE, event=event, when=when))
            conn.execute("select pg_advisory_lock(%s)", (HERE,))
            with self._doomed(arguments) as doomed:
                end = time.monotonic() + 30
                while not (found := conn.execute(WAITS, (HERE,)).fetchall()):
                    assert doomed.poll() is None
                    assert time.monotonic() < end
                    time.sleep(0.01)
            for (pid,) in found:
                conn.execute("select pg_terminate_backend(%s, 5000)", (pid,))
            conn.execute("select pg_advisory_unlock(%s)", (HERE,))
            table = event.split(" on ")[1]
            conn.execute(f"drop trigger a_stop on {table}")
            conn.execute("drop function public.stop_here()")

    @contextmanager
    def _doomed(self, arguments: list[str]) -> Iterator[subprocess.Popen[bytes]]:
        process = subprocess.Popen([PROGRAM, *arguments], env=self.environment, stdout=subprocess.DEVNULL)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def killed_while(self, arguments: list[str], reached: Event, go_on: Event) -> None:
        """Run the program until the endpoint has done what it was asked for and nobody was told, and kill it there."""
        with self._doomed(arguments):
            assert reached.wait(30)
        go_on.set()


@contextmanager
def night(url: str, folder: Path, method: str = "", path: str = "") -> Iterator[tuple[Night, Event, Event]]:
    """A night whose endpoint stops at the first request of this method and beginning of a path."""
    reached, go_on = Event(), Event()

    def hold(asked: str, at: str) -> None:
        if method and asked == method and at.startswith(path) and not reached.is_set():
            reached.set()
            go_on.wait(30)

    file = folder / "batch.yaml"
    file.write_text(CONFIG)
    with ScriptedBatches(judge, hold=hold) as server:
        yield Night(url, file, server), reached, go_on


def settled(server: ScriptedBatches, run: Run, books: list[tuple[int, ...]]) -> None:
    """What the record says was spent is what the books say and the day is charged with; no text stays at the
    endpoint."""
    line, day = books
    assert line == (run.requests, run.input_tokens, run.output_tokens, run.micros)
    assert day == (run.input_tokens + run.output_tokens, run.micros)
    assert server.files == {}
    assert run.batch is None


@pytest.mark.parametrize(
    ("event", "when"),
    [
        ("insert on muniment.spend_days", ""),
        ("update on muniment.consolidation_runs", "when (old.ended_at is null and new.ended_at is not null)"),
        ("update on muniment.consolidation_runs", "when (old.ended_at is not null)"),
    ],
    ids=["settling", "ending", "forgetting"],
)
def test_a_collector_is_killed(database_url: str, tmp_path: Path, event: str, when: str) -> None:
    """At any of its steps: what it has done is not done again, and what it has not is done by the next one."""
    with night(database_url, tmp_path) as (here, _, _):
        asyncio.run(here.begin(hand_over=True))
        here.due()
        here.killed_at(["work", "--once"], event, when)
        over, left, books = asyncio.run(here.finish())
        assert (over.status, over.reason, over.same, over.unanswered, left) == ("done", None, 3, 0, 3)
        assert over.requests == 1
        assert over.micros > 0
        settled(here.server, over, books)
        with psycopg.connect(database_url) as conn:
            merged = conn.execute(
                "select count(*), count(distinct memory_id) from muniment.journal where action = 'MERGE'"
            )
            assert merged.fetchone() == (6, 6)


def test_a_collector_is_killed_while_files_go(database_url: str, tmp_path: Path) -> None:
    """The run is over and one of two files is gone: the next one removes the other."""
    with night(database_url, tmp_path, "DELETE", "/v1/files/") as (here, reached, go_on):
        asyncio.run(here.begin(hand_over=True))
        here.due()
        here.killed_while(["work", "--once"], reached, go_on)
        assert len(here.server.files) == 1
        over, left, books = asyncio.run(here.finish())
        assert (over.status, over.same, left) == ("done", 3, 3)
        settled(here.server, over, books)


def test_who_hands_over_is_killed_before_it_may_ask(database_url: str, tmp_path: Path) -> None:
    """Money that is reserved is never without the record that says what for."""
    with night(database_url, tmp_path) as (here, _, _):
        asyncio.run(here.begin(hand_over=False))
        here.killed_at(
            ["consolidate", "--user", "ana"], "update on muniment.consolidation_runs", "when (new.status = 'waiting')"
        )
        with psycopg.connect(database_url) as conn:
            assert conn.execute("select coalesce(sum(tokens), 0) from muniment.spend_days").fetchone() == (0,)
            assert conn.execute("select status from muniment.consolidation_runs").fetchone() == ("running",)
        assert here.server.files == {}


def test_who_hands_over_is_killed_when_the_file_is_there(database_url: str, tmp_path: Path) -> None:
    """No batch was made of it: the money comes back, and the file goes."""
    with night(database_url, tmp_path, "POST", "/v1/files") as (here, reached, go_on):
        asyncio.run(here.begin(hand_over=False))
        here.killed_while(["consolidate", "--user", "ana"], reached, go_on)
        assert len(here.server.files) == 1
        over, left, books = asyncio.run(here.finish(FixedClock(datetime.now(UTC) + timedelta(minutes=16))))
        assert (over.status, over.unanswered, over.same, left) == ("interrupted", 3, 0, 6)
        assert here.server.batches == {}
        settled(here.server, over, books)
