"""What sessions cost: recording a turn, searching what was said in a large space, and building a long session by rules.

python -m benchmarks.sessions [--turns 100000] [--searches 20] [--json]

The turns are sentences of the synthetic world with a number, in sessions of forty."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks import harness, synthetic
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.models.hash_embedder import HashEmbedder

SEED, SESSION, BATCH, LONG = 20261121, 40, 2_000, 100
START = datetime(2026, 1, 1, tzinfo=UTC)
QUERIES = ("0x77", "我搬到了杭州 12", "pnpm 990", "never said before")


@asynccontextmanager
async def opened(own: settings.Settings) -> AsyncIterator[Memory]:
    """A memory over the throw-away database, with an embedder that needs no model."""
    async with bootstrap.create_memory(own.model_copy(update={"embedder": "hash-256"}), embedder=HashEmbedder()) as it:
        yield it


@cache
def list_texts() -> Sequence[str]:
    """What is said."""
    said = [one.text for one in synthetic.World(SEED).memories(0, 1_000)]
    return [*said, "2024年8月我搬到了杭州", "我们决定用 pnpm"]


def make_turns(count: int, first: int = 0) -> list[Turn]:
    """So many turns, the same every time."""
    texts = list_texts()
    return [
        Turn.make(
            session=f"s{n // SESSION}",
            key=str(n),
            role="user" if n % 2 else "assistant",
            text=f"{texts[n % len(texts)]} {n}",
            at=START + timedelta(seconds=n),
        )
        for n in range(first, first + count)
    ]


async def measure(turns: int, searches: int) -> dict[str, Any]:
    """Record the turns, search in them, record some more one by one, and build one long session."""
    found: dict[str, Any] = {"turns": turns}
    async with harness.throwaway(settings.load_settings()) as own, opened(own) as memory:
        found["machine"] = await harness.machine(await bootstrap.ensure_database(own))
        who, began = Scope(owner="ana"), perf_counter()
        for first in range(0, turns, BATCH):
            await memory.conversation.record(who, make_turns(min(BATCH, turns - first), first))
        found["recorded_per_second"] = round(turns / (perf_counter() - began))
        found["search_ms"] = await time_each(
            [lambda n=n: memory.sessions.search(who, QUERIES[n % len(QUERIES)]) for n in range(searches)]
        )
        later = make_turns(searches, turns)
        found["record_ms"] = await time_each([lambda t=t: memory.conversation.record(who, [t]) for t in later])
        long = Scope(owner="ben")
        said = [Turn.make(session="long", key=each.text, role="user", text=each.text, at=each.at) for each in later]
        said = [*said, *make_turns(LONG)][:LONG]
        await memory.conversation.record(
            long, [Turn.make(session="long", key=str(n), role="user", text=t.text, at=t.at) for n, t in enumerate(said)]
        )
        began = perf_counter()
        built = await memory.sessions.build(long, "long")
        found["build_ms"], found["built"] = round((perf_counter() - began) * 1_000, 1), built.built_to
    return found


async def time_each(calls: Sequence[Any]) -> dict[str, float]:
    """The milliseconds of each call, the first of them left out."""
    took = []
    for call in calls:
        began = perf_counter()
        await call()
        took.append((perf_counter() - began) * 1_000)
    took = took[1:]
    return {"p50": round(float(np.median(took)), 2), "p95": round(float(np.quantile(took, 0.95)), 2)}


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    rows = [[name, found[name]["p50"], found[name]["p95"]] for name in ("search_ms", "record_ms")]
    rows += [[name, found[name], ""] for name in ("build_ms", "recorded_per_second")]
    yield harness.grid(f"{found['turns']:,} turns of one space", ["", "p50", "p95"], rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Run, and print a table or JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sessions", description=__doc__)
    parser.add_argument("--turns", type=int, default=100_000)
    parser.add_argument("--searches", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(argv)
    return harness.run(measure(given.turns, given.searches), tables, as_json=given.json)


if __name__ == "__main__":
    sys.exit(main())
