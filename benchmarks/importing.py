"""What a bulk import takes beside COPY of the same rows, and whether its memory stays flat.

python -m benchmarks.importing [--memories 10000] [--rounds 3] [--stream 0] [--json]
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time
from typing import Any
from uuid import NAMESPACE_OID, uuid4, uuid5

import psycopg
from pgvector.psycopg import register_vector_async
from psycopg import sql
from rich.table import Table

from benchmarks import harness, latency, synthetic
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.domain.ids import TurnId, Vector
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import StoreError

SEED = 20240502
POOL = 2_000  # different texts and vectors; a number makes each text the only one of its kind
TABLES = ("memories", "journal", "turns")
FLOOR = "COPY, memories"
ALL = "COPY, memories, journal, turns"
_SPACE = """
insert into muniment.spaces (space_id, tenant_id, owner_id, owner_type, rev, created_at)
values (%s, 'raw', %s, 'user', 0, now())
"""


class Known:
    """An embedder that knows the vectors beforehand: by the number that a text ends with."""

    name = settings.DEFAULT_EMBEDDER
    dimensions = synthetic.DIMENSIONS

    def __init__(self, vectors: Sequence[Vector]) -> None:
        self._vectors = vectors

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return [self._vectors[int(text.rpartition(" ")[2]) % POOL] for text in texts]

    async def embed_query(self, text: str) -> Vector:
        return (await self.embed_documents([text]))[0]

    async def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True, slots=True)
class Copied:
    """The rows of one table as the driver takes them, and the types of the columns."""

    types: list[int]
    rows: list[tuple[Any, ...]]


class Ways:
    """The ways in for the same memories, each time into a new space."""

    def __init__(self, memory: Memory, raw: psycopg.AsyncConnection, made: Sequence[synthetic.Made]) -> None:
        self.memory, self.raw, self.made = memory, raw, made
        self.copied: dict[str, Copied] = {}
        self.exported: list[dict[str, Any]] = []

    def candidates(self, count: int) -> Iterator[Candidate]:
        """One by one; the ids of their turns are the same every time."""
        for n in range(count):
            one = self.made[n % POOL]
            turn = TurnId(uuid5(NAMESPACE_OID, str(n)))
            yield Candidate(
                text=f"{one.text} {n}", category=one.category, kind="semantic", confidence=1.0, turns=(turn,)
            )

    async def prepare(self, count: int) -> None:
        """Import once, and read back what COPY and `load` will write again."""
        scope = Scope(owner="source")
        await self.memory.ingest(scope, self.candidates(count))
        self.exported = list(await self.memory.export(scope))
        for table in TABLES:
            await self.raw.execute(
                sql.SQL(
                    "create table public.{0} (like muniment.{0} including all);"
                    "alter table public.{0} add foreign key (space_id) references muniment.spaces (space_id)"
                ).format(sql.Identifier(table))
            )
            query = sql.SQL("select * from muniment.{} where space_id = %s").format(sql.Identifier(table))
            cursor = await self.raw.cursor(binary=True).execute(query, (scope.space,))
            self.copied[table] = Copied(
                [column.type_code for column in cursor.description or ()], await cursor.fetchall()
            )

    async def copy(self, tables: Sequence[str]) -> None:
        """COPY into tables with the same indexes and constraints, one transaction, no row-level security."""
        space = uuid4()
        async with self.raw.transaction(), self.raw.cursor() as cursor:
            await cursor.execute(_SPACE, (space, str(space)))
            for table in tables:
                into = sql.SQL("copy public.{} from stdin (format binary)").format(sql.Identifier(table))
                async with cursor.copy(into) as copy:
                    copy.set_types(self.copied[table].types)
                    for row in self.copied[table].rows:
                        await copy.write_row((space, *row[1:]))

    async def ingest(self, ready: Sequence[Candidate]) -> None:
        """`Memory.ingest`."""
        written(await self.memory.ingest(Scope(owner=str(uuid4())), ready), len(ready))

    async def load(self, count: int) -> None:
        """`Memory.load` of the export of those memories: the memories, their journal, their turns."""
        written((await self.memory.load(Scope(owner=str(uuid4())), self.exported)).added, count)


def written(found: int, wanted: int) -> None:
    """Raises StoreError for what was left out: it would be measured as fast."""
    if found != wanted:
        raise StoreError(f"an import of the benchmark wrote {found} memories instead of {wanted}")


async def measure(memories: int, rounds: int, stream: int) -> dict[str, Any]:
    """A long stream, if one is asked for, then every way in turns."""
    async with harness.throwaway(settings.load_settings()) as own, ways(own) as here:
        dsn = await bootstrap.ensure_database(own)
        machine = await harness.machine(dsn)
        # First, while the process has held nothing large yet: its peak is the stream's.
        streamed = await flow(here, stream) if stream else None
        await here.prepare(memories)
        ready = list(here.candidates(memories))
        contestants: dict[str, Callable[[], Awaitable[None]]] = {
            FLOOR: lambda: here.copy(TABLES[:1]),
            ALL: lambda: here.copy(TABLES),
            "ingest": lambda: here.ingest(ready),
            "load": lambda: here.load(memories),
        }
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as admin:
            tallies = await race(contestants, rounds, admin)
    found = figures(tallies, memories)
    return {
        "memories": memories,
        "rounds": rounds,
        "seed": SEED,
        "ingest_ratio": found["ingest"]["ratio"],
        "ingest_ratio_rows": found["ingest"]["ratio_rows"],
        "load_ratio": found["load"]["ratio"],
        "load_ratio_rows": found["load"]["ratio_rows"],
        "imports": found,
        "stream": streamed,
        "machine": machine,
    }


@asynccontextmanager
async def ways(own: settings.Settings) -> AsyncIterator[Ways]:
    """Everything open."""
    made = synthetic.World(SEED).memories(0, POOL)
    dsn = await bootstrap.ensure_database(own)
    async with (
        bootstrap.create_memory(own, embedder=Known([one.vector for one in made])) as memory,
        await psycopg.AsyncConnection.connect(dsn, autocommit=True) as raw,
    ):
        await register_vector_async(raw)
        yield Ways(memory, raw, made)


async def race(
    contestants: dict[str, Callable[[], Awaitable[None]]], rounds: int, admin: psycopg.AsyncConnection
) -> dict[str, list[latency.Tally]]:
    """All in turns, every round in another order; a round before the first is for warming."""
    names = list(contestants)
    tallies: dict[str, list[latency.Tally]] = {name: [] for name in names}
    with harness.bar("imports", (rounds + 1) * len(names)) as tick:
        for turn in range(rounds + 1):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                tally = latency.Tally()
                before, cpu, wall = await latency.backend_cpu(admin), process_time(), perf_counter()
                await contestants[name]()
                tally.wall, tally.client_cpu = perf_counter() - wall, process_time() - cpu
                after = await latency.backend_cpu(admin)
                tally.backend_cpu = (
                    sum(spent - before.get(pid, 0.0) for pid, spent in after.items())
                    if before is not None and after is not None
                    else None
                )
                if turn:
                    tallies[name].append(tally)
                tick(1)
    return tallies


def figures(tallies: dict[str, list[latency.Tally]], memories: int) -> dict[str, dict[str, float | None]]:
    """Memories a second (the median round), beside COPY of the memories alone and of all the same rows, and CPU."""
    floor, every = (median(tally.wall for tally in tallies[name]) for name in (FLOOR, ALL))
    found = {}
    for name, some in tallies.items():
        wall = median(tally.wall for tally in some)
        backend = [tally.backend_cpu for tally in some if tally.backend_cpu is not None]
        found[name] = {
            "memories_s": round(memories / wall),
            "ratio": round(floor / wall, 3),
            "ratio_rows": round(every / wall, 3),
            "client_cpu_us": round(median(tally.client_cpu for tally in some) / memories * 1e6, 1),
            "backend_cpu_us": round(median(backend) / memories * 1e6, 1) if backend else None,
        }
    return found


async def flow(here: Ways, count: int) -> dict[str, float]:
    """A stream of so many candidates, none of which exists before it is asked for."""
    written(await here.memory.ingest(Scope(owner="first"), here.candidates(4 * POOL)), 4 * POOL)
    started, before = perf_counter(), peak_mb()
    written(await here.memory.ingest(Scope(owner="stream"), here.candidates(count)), count)
    wall = perf_counter() - started
    return {
        "memories": count,
        "memories_s": round(count / wall),
        "seconds": round(wall, 1),
        "peak_rss_growth_mb": round(peak_mb() - before, 1),
    }


def peak_mb() -> float:
    """The most memory this process ever had."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1024 * 1024 if sys.platform == "darwin" else 1024)


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    yield harness.grid(
        f"{found['memories']} memories, median of {found['rounds']} rounds",
        ["", "memories/s", "x COPY", "x COPY of all", "client CPU us", "backend CPU us"],
        [[name, *row.values()] for name, row in found["imports"].items()],
    )
    if found["stream"]:
        yield harness.grid("A stream", ["", ""], [[name, value] for name, value in found["stream"].items()])


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.importing", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--memories", type=int, default=10_000, metavar="N", help="of every import")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="of all imports")
    parser.add_argument(
        "--stream", type=int, default=0, metavar="N", help="before that import so many that come one by one"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    if min(args.memories, args.rounds) < 1 or args.stream < 0:
        parser.error("--memories, --rounds: 1 or more wanted, --stream: 0 or more")
    return harness.run(measure(args.memories, args.rounds, args.stream), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
