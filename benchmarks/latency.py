"""What `memory.query` costs beside the floor under it and LangGraph's store: same vectors, one run, interleaved.

python -m benchmarks.latency [--users 100] [--memories 1000] [--queries 400] [--no-store] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from random import Random
from time import perf_counter, process_time
from typing import Any

import numpy as np
import psycopg
from psycopg import sql
from rich.table import Table

from benchmarks import harness, synthetic
from benchmarks.contestants import Contestant, Floor, Found, Muniment, Replay, Store, open_floor, open_store
from muniment.memory import bootstrap
from muniment.memory.config import settings

CLIENTS = (1, 8)
BLOCK = 40  # questions that one contestant answers before the next has its turn
LOADERS = 4
SEED = 20240501
IMPORTS = {"muniment": "import muniment", "engine": "from muniment import open_memory"}
INDEX = "store_vectors_embedding_idx"


@dataclass(slots=True)
class Tally:
    """Latencies in seconds, and what they cost: CPU seconds of this process and of the server's backends."""

    latencies: list[float] = field(default_factory=list)
    wall: float = 0.0
    client_cpu: float = 0.0
    backend_cpu: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Ring:
    """The contestants of one run, and the door to the server that none of them uses."""

    contestants: Mapping[str, Contestant]
    memory: Muniment
    floor: Floor
    store: Store | None
    admin: psycopg.AsyncConnection
    load_seconds: float
    indexed: int  # spaces that are large enough for indexes of their own
    index_seconds: float


async def measure(users: int, memories: int, queries: int, *, with_store: bool = True) -> dict[str, Any]:
    """Load, warm up, measure with one client and with several, compare the answers with the exact ones."""
    world = synthetic.World(SEED)
    questions = world.questions(users, queries)
    async with harness.throwaway(settings.load_settings()) as own:
        machine = await harness.machine(await bootstrap.ensure_database(own))
        async with ring(own, world, users, memories, questions, with_store=with_store) as here:
            found = {str(clients): await race(here, questions, clients) for clients in CLIENTS}
            answers = await compare(here, questions)
            pages = await backend_peak(here.admin)
    alone = found["1"]
    store = {f"store_ratio_to_floor_{p}": alone["store"][f"ratio_{p}"] for p in ("p50", "p95")} if with_store else {}
    return {
        "users": users,
        "memories": memories,
        "queries": queries,
        "dimensions": synthetic.DIMENSIONS,
        "seed": SEED,
        "ratio_to_floor_p50": alone["memory"]["ratio_p50"],
        "ratio_to_floor_p95": alone["memory"]["ratio_p95"],
        **store,
        **answers,
        "clients": found,
        "load_seconds": round(here.load_seconds, 1),
        "indexed_spaces": here.indexed,
        "index_seconds": round(here.index_seconds, 1),
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "backend_peak_rss_mb": pages,
        "import_cpu_s": {name: harness.import_seconds(statement) for name, statement in IMPORTS.items()},
        "machine": machine,
    }


@asynccontextmanager
async def ring(
    own: settings.Settings,
    world: synthetic.World,
    users: int,
    memories: int,
    questions: Sequence[synthetic.Asked],
    *,
    with_store: bool,
) -> AsyncIterator[Ring]:
    """Everything open, loaded and analysed."""
    dsn = await bootstrap.ensure_database(own)
    known = Replay(settings.DEFAULT_EMBEDDER)
    behind = Replay(settings.DEFAULT_EMBEDDER, bootstrap.make_embedder(own))
    for asked in questions:
        known.known |= {asked.text: asked.vector, asked.unheard: asked.vector}
    behind.known = known.known
    async with (
        await psycopg.AsyncConnection.connect(dsn, autocommit=True) as admin,
        bootstrap.create_memory(own, embedder=known) as memory,
        bootstrap.create_memory(own, embedder=behind) as embedding,
        open_floor(dsn) as floor,
        open_store(dsn, known.lists) if with_store else nullcontext() as store,
    ):
        started = perf_counter()
        ours = Muniment(memory)
        await load(world, users, memories, known, ours, store, admin)
        loaded = perf_counter()
        indexed = await memory.admin.index_all()
        contestants: dict[str, Contestant] = {
            "memory": ours,
            "memory_embedding": Muniment(embedding),
            "found": Found(memory),
            "floor": floor,
        }
        if store is not None:
            contestants["store"] = store
        yield Ring(contestants, ours, floor, store, admin, loaded - started, len(indexed), perf_counter() - loaded)


async def load(
    world: synthetic.World,
    users: int,
    memories: int,
    known: Replay,
    ours: Muniment,
    store: Store | None,
    admin: psycopg.AsyncConnection,
) -> None:
    """The same memories into both, each through its own door; the store's vector index is made afterwards, as it
    was."""
    row = await (await admin.execute("select pg_get_indexdef(to_regclass(%s))", (INDEX,))).fetchone()
    assert row is not None
    await admin.execute(sql.SQL("drop index if exists {}").format(sql.Identifier(INDEX)))
    waiting = iter(range(users))

    async def loader(tick: harness.Tick) -> None:
        for user in waiting:
            made = world.memories(user, memories)
            fresh = {one.text: one.vector for one in made}
            known.known |= fresh
            await ours.load(synthetic.owner(user), made)
            if store is not None:
                await store.load(synthetic.owner(user), made)
            for text in fresh:
                del known.known[text]
            tick(1)

    with harness.bar("loading users", users) as tick:
        async with asyncio.TaskGroup() as group:
            for _ in range(LOADERS):
                group.create_task(loader(tick))
    await admin.execute("set maintenance_work_mem = '1GB'")
    if store is not None:
        with harness.bar("the store's index", 1) as tick:
            await admin.execute(row[0])
            tick(1)
    await admin.execute("vacuum (analyze)")


async def race(here: Ring, questions: Sequence[synthetic.Asked], clients: int) -> dict[str, Any]:
    """Every contestant answers every question; they take turns by blocks, in all orders, so that nobody always comes
    after the one who leaves the most, or the least, of the server's buffers to others."""
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    names = list(here.contestants)
    orders = list(permutations(names))
    Random(SEED).shuffle(orders)
    for name in names:
        await block(here, name, questions[:BLOCK], clients)
    with harness.bar(f"{clients} client{'s' if clients > 1 else ''}", len(questions) * len(names)) as tick:
        for turn, start in enumerate(range(0, len(questions), BLOCK)):
            some = questions[start : start + BLOCK]
            for name in orders[turn % len(orders)]:
                add(tallies[name], await block(here, name, some, clients))
                tick(len(some))
    floor = percentiles(tallies["floor"])
    return {name: figures(tallies[name], floor) for name in names}


async def block(here: Ring, name: str, questions: Sequence[synthetic.Asked], clients: int) -> Tally:
    """One contestant, so many clients that take the next question as soon as they have an answer."""
    contestant, waiting, tally = here.contestants[name], iter(questions), Tally()

    async def client() -> None:
        for asked in waiting:
            started = perf_counter()
            await contestant.search(asked)
            tally.latencies.append(perf_counter() - started)

    before, cpu, wall = await backend_cpu(here.admin), process_time(), perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    tally.wall, tally.client_cpu = perf_counter() - wall, process_time() - cpu
    after = await backend_cpu(here.admin)
    tally.backend_cpu = (
        sum(spent - before.get(pid, 0.0) for pid, spent in after.items())
        if before is not None and after is not None
        else None
    )
    return tally


def add(total: Tally, one: Tally) -> None:
    """Add a block to the sum of blocks."""
    total.latencies += one.latencies
    total.wall += one.wall
    total.client_cpu += one.client_cpu
    total.backend_cpu = (
        None if total.backend_cpu is None or one.backend_cpu is None else total.backend_cpu + one.backend_cpu
    )


def percentiles(tally: Tally) -> tuple[float, float]:
    """The median and the 95th percentile, in seconds."""
    p50, p95 = np.percentile(tally.latencies, (50, 95))
    return float(p50), float(p95)


def figures(tally: Tally, floor: tuple[float, float]) -> dict[str, float | None]:
    """Milliseconds a query, and how many times the floor."""
    p50, p95 = percentiles(tally)
    count = len(tally.latencies)
    return {
        "p50_ms": round(p50 * 1000, 3),
        "p95_ms": round(p95 * 1000, 3),
        "ratio_p50": round(p50 / floor[0], 2),
        "ratio_p95": round(p95 / floor[1], 2),
        "queries_per_second": round(count / tally.wall, 1),
        "client_cpu_ms": round(tally.client_cpu / count * 1000, 3),
        "backend_cpu_ms": None if tally.backend_cpu is None else round(tally.backend_cpu / count * 1000, 3),
    }


async def compare(here: Ring, questions: Sequence[synthetic.Asked]) -> dict[str, float]:
    """The share of the exact ten that the dense channel finds, and the store."""
    ours = theirs = wanted = 0
    with harness.bar("comparing answers", len(questions)) as tick:
        for asked in questions:
            exact = set(await here.floor.search(asked))
            wanted += len(exact)
            ours += len(exact & set(await here.memory.dense(asked)))
            theirs += len(exact & set(await here.store.search(asked))) if here.store else 0
            tick(1)
    store = {"store_recall_vs_exact": round(theirs / wanted, 4)} if here.store else {}
    return {"recall_vs_exact": round(ours / wanted, 4), **store}


async def backend_cpu(admin: psycopg.AsyncConnection) -> dict[int, float] | None:
    """CPU seconds so far of every backend of this database; None where the server's processes cannot be seen."""
    return _spent(await _backends(admin))


async def backend_peak(admin: psycopg.AsyncConnection) -> int | None:
    """The most memory that a backend has had, in MB, shared buffers that it touched included."""
    return _peak(await _backends(admin))


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    for clients, rows in found["clients"].items():
        title = (
            f"{found['users']} users x {found['memories']} memories, {clients} client{'s' if clients != '1' else ''}"
        )
        header = ["", "p50 ms", "p95 ms", "x floor p50", "x floor p95", "queries/s", "client CPU ms", "backend CPU ms"]
        yield harness.grid(title, header, [[name, *row.values()] for name, row in rows.items()])
    yield harness.grid(
        "Answers and memory",
        ["", ""],
        [
            ["recall against exact, dense channel", found["recall_vs_exact"]],
            ["recall against exact, store", found.get("store_recall_vs_exact", "not asked")],
            ["peak RSS of this process, MB", found["peak_rss_mb"]],
            ["largest peak RSS of a backend, MB", found["backend_peak_rss_mb"]],
            ["import muniment, CPU seconds", found["import_cpu_s"]["muniment"]],
            ["… and its engine, CPU seconds", found["import_cpu_s"]["engine"]],
            ["loading, seconds", found["load_seconds"]],
            ["spaces with indexes of their own", found["indexed_spaces"]],
            ["… making them, seconds", found["index_seconds"]],
        ],
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--users", type=int, default=100, metavar="N")
    parser.add_argument("--memories", type=int, default=1000, metavar="N", help="of each user")
    parser.add_argument(
        "--queries", type=int, default=400, metavar="N", help="of each contestant, for each number of clients"
    )
    parser.add_argument("--no-store", action="store_true", help="without LangGraph's store, which takes long to load")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    for name in ("users", "memories", "queries"):
        if getattr(args, name) < 1:
            parser.error(f"--{name}: a whole number of 1 or more wanted")
    report = measure(args.users, args.memories, args.queries, with_store=not args.no_store)
    return harness.run(report, tables, as_json=args.json)


async def _backends(admin: psycopg.AsyncConnection) -> list[int]:
    cursor = await admin.execute(
        "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
    )
    return [pid for (pid,) in await cursor.fetchall()]


def _spent(pids: Sequence[int]) -> dict[int, float] | None:
    files = {pid: Path(f"/proc/{pid}/schedstat") for pid in pids}
    try:
        return {pid: int(file.read_text().split()[0]) / 1e9 for pid, file in files.items()}
    except OSError:  # another machine, another system, or a backend that has just ended
        return None


def _peak(pids: Sequence[int]) -> int | None:
    try:
        lines = [text for pid in pids for text in Path(f"/proc/{pid}/status").read_text().splitlines()]
    except OSError:
        return None
    return max((int(text.split()[1]) // 1024 for text in lines if text.startswith("VmHWM")), default=None)


if __name__ == "__main__":
    sys.exit(main())
