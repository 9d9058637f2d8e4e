"""How far more workers help, whether two ever do the same, and what a kill -9 of half of them loses.

python -m benchmarks.workers [--spaces 2000] [--memories 10] [--workers 1,2,4,8] [--json]

Workers are processes of their own (`muniment work`) that share only Postgres. Each space has a pair of memories that
say the same, and its tending has to find it: what was done, and how often, is counted in the journal."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pydantic import SecretStr
from rich.table import Table

from benchmarks import harness
from muniment.memory import bootstrap
from muniment.memory.config import settings
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import StoreError

_THINGS = (
    "green tea",
    "long walks",
    "old maps",
    "the violin",
    "black bread",
    "open water",
    "night trains",
    "quiet rooms",
)
_PLACES = ("Tartu", "Porto", "Graz", "Bergen", "Leeds", "Osaka", "Quito", "Turku", "Brno", "Gent")
_MUNIMENT = [sys.executable, "-c", "import sys; from muniment.faces.cli import main; sys.exit(main())"]
_CONFIG = "jobs: {concurrency: 2, stalled_seconds: 6}\nsession_ledger: {run_on_startup: false}\n"
_POLL_SECONDS = 0.02
_PATIENCE_SECONDS = 600.0
_LEFT = "select count(*) from jobs.queue where name = 'tend'"
_HANDS = "select count(*) from jobs.workers"
_DONE = """
select count(*) as spaces, count(*) filter (where merges = 1) as once, count(*) filter (where merges > 1) as twice,
  count(*) filter (where runs > 1) as run_twice, count(*) filter (where interrupted > 0) as interrupted,
  count(*) filter (where not tended) as untended
from (
  select s.space_id, s.tended_at is not null as tended,
    (select count(*) from muniment.memories m where m.space_id = s.space_id and m.state = 'superseded') as merges,
    (select count(*) from muniment.consolidation_runs r where r.space_id = s.space_id and r.status = 'done') as runs,
    (select count(*) from muniment.consolidation_runs r where r.space_id = s.space_id
      and r.status <> 'done') as interrupted
  from muniment.spaces s
) one
"""


async def measure(spaces: int, memories: int, workers: Sequence[int]) -> dict[str, Any]:
    """The same night again and again, with ever more workers; then with eight of which four are killed."""
    base = settings.load_settings({**os.environ, "MUNIMENT_EMBEDDER": settings.HASH_EMBEDDER})
    async with harness.throwaway(base) as own:
        dsn = await bootstrap.ensure_database(own)
        machine = await harness.machine(dsn)
        await _fill(own, spaces, memories)
        nights = {}
        for count in workers:
            nights[str(count)] = await _night(own, dsn, count)
        killed = await _night(own, dsn, max(workers), kill=max(workers) // 2)
    first = nights[str(workers[0])]["spaces_per_second"]
    for night in (*nights.values(), killed):
        night["ratio"] = round(night["spaces_per_second"] / first, 2)
    return {"spaces": spaces, "memories": memories, "nights": nights, "killed": killed, "machine": machine}


async def _fill(own: settings.Settings, spaces: int, memories: int) -> None:
    async with bootstrap.create_memory(own) as memory:
        with harness.bar("spaces", spaces) as tick:

            async def one(n: int) -> None:
                scope = Scope(owner=f"user {n}")
                texts = [f"The user likes {_THINGS[n % len(_THINGS)]}", f"The user likes {_THINGS[n % len(_THINGS)]}."]
                texts += [f"The user was in {_PLACES[k % len(_PLACES)]} in {1990 + k}" for k in range(memories - 2)]
                some = [
                    Candidate(
                        text=text,
                        category="preferences" if k < 2 else "activity",
                        kind="semantic" if k < 2 else "episodic",
                        importance=3,
                        turns=(TurnId(uuid5(NAMESPACE_OID, f"{n} {k}")),),
                    )
                    for k, text in enumerate(texts)
                ]
                await memory.ingest(scope, some)

            await harness.together(range(spaces), one, tick)


async def _night(own: settings.Settings, dsn: str, count: int, *, kill: int = 0) -> dict[str, Any]:
    """One night over a copy of the database: from the moment at which the spaces are due until all are tended."""
    async with _copy(dsn) as url, await psycopg.AsyncConnection.connect(url, autocommit=True) as watch:
        total = await _number(watch, "select count(*) from muniment.spaces")
        async with _working(url, count) as hired:
            await _until(watch, _HANDS, count, hired)
            started = perf_counter()
            changed = own.model_copy(update={"database_url": SecretStr(url)})
            async with bootstrap.create_memory(changed) as memory:
                house = memory.engine
                await house.store.maintenance.enqueue_due_spaces(
                    memory.now(), timedelta(hours=1), timedelta(seconds=1), house.retention
                )
            if kill:
                await _until(watch, _LEFT, total * 2 // 3, hired, below=True)
                for one in hired[:kill]:
                    one.send_signal(signal.SIGKILL)
            await _until(watch, _LEFT, 0, hired[kill:], below=True)
            seconds = perf_counter() - started
        found = await (await watch.execute(_DONE)).fetchone()
    assert found is not None
    names = ("spaces", "once", "twice", "run_twice", "interrupted", "untended")
    counted = dict(zip(names, found, strict=True))
    return {"workers": count, "killed": kill, "seconds": round(seconds, 1),
            "spaces_per_second": round(total / seconds, 1), **counted,
            "lost": counted["untended"] + total - counted["once"] - counted["twice"]}  # fmt: skip


@asynccontextmanager
async def _copy(dsn: str) -> AsyncIterator[str]:
    """A copy of a database that nobody is connected to."""
    name = f"{conninfo_to_dict(dsn)['dbname']}_night"
    async with await psycopg.AsyncConnection.connect(make_conninfo(dsn, dbname="postgres"), autocommit=True) as admin:
        source = sql.Identifier(str(conninfo_to_dict(dsn)["dbname"]))
        await admin.execute(
            sql.SQL("create database {} template {} strategy file_copy").format(sql.Identifier(name), source)
        )
        try:
            yield make_conninfo(dsn, dbname=name)
        finally:
            await asyncio.shield(admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name))))


@asynccontextmanager
async def _working(url: str, count: int) -> AsyncIterator[list[asyncio.subprocess.Process]]:
    with TemporaryDirectory() as folder:
        config = Path(folder) / "workers.yaml"
        config.write_text(_CONFIG, encoding="utf-8")
        env = os.environ | {
            "MUNIMENT_DATABASE_URL": url,
            "MUNIMENT_EMBEDDER": settings.HASH_EMBEDDER,
            "MUNIMENT_CONFIG": str(config),
        }
        hired = [
            await asyncio.create_subprocess_exec(
                *_MUNIMENT,
                "work",
                "--json",
                env=env,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
            for _ in range(count)
        ]
        try:
            yield hired
        finally:
            for one in hired:
                if one.returncode is None:
                    one.terminate()
            await asyncio.gather(*(one.wait() for one in hired))


async def _until(
    watch: psycopg.AsyncConnection,
    question: str,
    wanted: int,
    hired: Sequence[asyncio.subprocess.Process],
    *,
    below: bool = False,
) -> None:
    """Wait until the number is there. Raises StoreError when a worker ends, or it takes for ever."""
    end = perf_counter() + _PATIENCE_SECONDS
    while True:
        now = await _number(watch, question)
        if (now <= wanted) if below else (now >= wanted):
            return
        if any(one.returncode is not None for one in hired):
            raise StoreError("a worker of the benchmark has ended by itself")
        if perf_counter() > end:
            raise StoreError(f"the benchmark waited {_PATIENCE_SECONDS:.0f} s for its workers")
        await asyncio.sleep(_POLL_SECONDS)


async def _number(watch: psycopg.AsyncConnection, question: str) -> int:
    row = await (await watch.execute(question.encode())).fetchone()
    assert row is not None
    return int(row[0])


def show(found: dict[str, Any]) -> Iterator[Table]:
    """One table: a line a night."""
    nights = [*found["nights"].values(), found["killed"]]
    header = ["workers", "killed", "s", "spaces/s", "ratio", "merged once", "twice", "run twice", "interrupted", "lost"]
    names = (
        "workers",
        "killed",
        "seconds",
        "spaces_per_second",
        "ratio",
        "once",
        "twice",
        "run_twice",
        "interrupted",
        "lost",
    )
    yield harness.grid(
        f"{found['spaces']:,} spaces of {found['memories']} memories",
        header,
        [[one[name] for name in names] for one in nights],
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.workers", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--spaces", type=int, default=2_000)
    parser.add_argument("--memories", type=int, default=10)
    parser.add_argument("--workers", default="1,2,4,8")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(argv)
    workers = [int(one) for one in given.workers.split(",")]
    return harness.run(measure(given.spaces, given.memories, workers), show, as_json=given.json)


if __name__ == "__main__":
    sys.exit(main())
