"""What embedding takes: one caller after the other, eight at once, the same texts, and a question beside an import.

python -m benchmarks.embedding [--texts 240] [--rounds 5] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from time import perf_counter, process_time
from typing import Any

import numpy as np
from pydantic import SecretStr
from rich.table import Table

from benchmarks import harness
from muniment.memory import bootstrap
from muniment.memory.config import settings
from muniment.memory.models.openai.embedder import OpenAIEmbedder
from muniment.memory.ports.embedders import Embedder
from muniment.testing.openai_server import ScriptedOpenAI

CLIENTS = 8
REPEATS = 4  # how many ask the same, where they do
ENDPOINT_SECONDS = 0.05
IMPORT = 3_000
TICK = 0.002
Counted = Callable[[], int]


class Tally:
    """Waits in seconds, the wall clock and CPU they took together, and the longest the event loop stood still."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.wall = self.cpu = self.stall = 0.0
        self.made = 0

    def figures(self) -> dict[str, float]:
        """Milliseconds a question, questions a second, and how many texts or requests it was for the model."""
        p50, p95 = np.percentile(self.waits, (50, 95))
        return {
            "p50_ms": round(float(p50) * 1000, 2),
            "p95_ms": round(float(p95) * 1000, 2),
            "max_ms": round(max(self.waits) * 1000, 2),
            "per_second": round(len(self.waits) / self.wall, 1),
            "cpu_ms": round(self.cpu / len(self.waits) * 1000, 2),
            "made": self.made,
            "stall_ms": round(self.stall * 1000, 2),
        }


async def measure(texts: int, rounds: int) -> dict[str, Any]:
    """The configured embedder, then one behind an endpoint on loopback that takes 50 ms for a request."""
    embedder = bootstrap.make_embedder(settings.load_settings())
    try:
        await embedder.embed_query("Is the model there?")
        local = await race(embedder, lambda: int(getattr(embedder, "made", 0)), texts, rounds)
        beside = await beside_import(embedder, texts)
    finally:
        await embedder.close()
    with ScriptedOpenAI(latency=ENDPOINT_SECONDS) as server:
        far = OpenAIEmbedder("scripted", api_key=SecretStr("none"), base_url=server.base_url)
        try:
            await far.embed_query("Is the model there?")
            remote = await race(far, lambda: len(server.requests), texts, 1)
        finally:
            await far.close()
    return {
        "embedder": embedder.name,
        "questions": texts,
        "rounds": rounds,
        "clients": CLIENTS,
        "speedup": speedup(local, "at once"),
        "speedup_repeats": speedup(local, "at once, repeats"),
        "endpoint_speedup": speedup(remote, "at once"),
        "local": local,
        "import": beside,
        "endpoint": remote,
        "here": here(),
    }


async def race(embedder: Embedder, made: Counted, texts: int, rounds: int) -> dict[str, dict[str, float]]:
    """Every way has as many questions in every round, and they take turns, so that a busy machine is busy for all."""
    ways = {"one by one": (1, 1), "at once": (CLIENTS, 1), "at once, repeats": (CLIENTS, REPEATS)}
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    with harness.bar(embedder.name, rounds * len(ways)) as tick:
        for turn in range(rounds):
            for name, (clients, repeats) in ways.items():
                asked = [question(f"{name} {turn}", n // repeats) for n in range(texts)]
                before = made()
                await serve(embedder, asked, clients, tallies[name])
                tallies[name].made += made() - before
                tick(1)
    return {name: tally.figures() for name, tally in tallies.items()}


async def serve(embedder: Embedder, asked: Sequence[str], clients: int, tally: Tally) -> None:
    """So many clients that take the next question as soon as they have a vector."""
    waiting = iter(asked)

    async def client() -> None:
        for text in waiting:
            tally.waits.append(await timed(embedder.embed_query(text)))

    async with watched(tally):
        await asyncio.gather(*(client() for _ in range(clients)))


async def beside_import(embedder: Embedder, texts: int) -> dict[str, float]:
    """What a question waits with nothing else to do and beside an import of thousands; a pause before each."""
    alone, beside = Tally(), Tally()
    lines = [f"{n}: the user wrote that {question('import', n)}" for n in range(IMPORT)]
    for tally in (alone, beside):
        work = asyncio.create_task(embedder.embed_documents(lines if tally is beside else []))
        await asyncio.sleep(0)
        async with watched(tally):
            for n in range(min(texts, 60)):
                await asyncio.sleep(0.02)
                tally.waits.append(await timed(embedder.embed_query(question(f"beside {tally is beside}", n))))
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
    return {
        "texts": IMPORT,
        "alone_p50_ms": alone.figures()["p50_ms"],
        "alone_p95_ms": alone.figures()["p95_ms"],
        "beside_p50_ms": beside.figures()["p50_ms"],
        "beside_p95_ms": beside.figures()["p95_ms"],
        "beside_max_ms": beside.figures()["max_ms"],
        "stall_ms": beside.figures()["stall_ms"],
    }


@asynccontextmanager
async def watched(tally: Tally) -> AsyncIterator[None]:
    """Count wall clock and CPU, and how much later than it wanted a task of the event loop was woken at worst."""

    async def watch() -> None:
        while True:
            before = perf_counter()
            await asyncio.sleep(TICK)
            tally.stall = max(tally.stall, perf_counter() - before - TICK)

    watcher = asyncio.create_task(watch())
    wall, cpu = perf_counter(), process_time()
    try:
        yield
    finally:
        tally.wall += perf_counter() - wall
        tally.cpu += process_time() - cpu
        watcher.cancel()


async def timed(work: Awaitable[object]) -> float:
    """Seconds until it is done."""
    before = perf_counter()
    await work
    return perf_counter() - before


def question(name: str, number: int) -> str:
    """A question of about twelve words like no other; the ways have texts of the same length."""
    things = ("drink in the morning", "do on a free weekend", "read before going to bed", "cook when friends come over")
    return f"What does the user like to {things[number % 4]}, asked {name} for the time {number}?"


def speedup(rows: dict[str, dict[str, float]], name: str) -> float:
    """How many times as many questions a second as one by one."""
    return round(rows[name]["per_second"] / rows["one by one"]["per_second"], 2)


def here() -> dict[str, Any]:
    """Where it was measured: no database is needed, so none is told of."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    header = ["", "p50 ms", "p95 ms", "max ms", "questions/s", "CPU ms", "read", "longest stall ms"]
    rows = [[name, *row.values()] for name, row in found["local"].items()]
    yield harness.grid(f"{found['embedder']}, {CLIENTS} clients at once", header, rows)
    rows = [[name, *row.values()] for name, row in found["endpoint"].items()]
    header[-2] = "requests"
    yield harness.grid(f"an endpoint of {ENDPOINT_SECONDS * 1000:.0f} ms", header, rows)
    yield harness.grid("A question beside an import", ["", ""], list(found["import"].items()))
    yield harness.grid("Machine", ["", ""], list(found["here"].items()))


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.embedding", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--texts", type=int, default=240, metavar="N", help="questions of each way in each round")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    for name in ("texts", "rounds"):
        if getattr(args, name) < 1:
            parser.error(f"--{name}: a whole number of 1 or more wanted")
    return harness.run(measure(args.texts, args.rounds), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
