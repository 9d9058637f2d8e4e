"""What the seals of the journal cost a write, and how fast a journal is verified.

python -m benchmarks.journal [--writes 400] [--lines 100000] [--json]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any
from uuid import uuid4

import numpy as np
import psycopg
from rich.table import Table

from benchmarks import harness, synthetic
from benchmarks.contestants import Replay
from benchmarks.pieces import Piece, alone
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.plan import Change, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, make_memory

BLOCK = 20  # writes of one database before the other has its turn
WAYS = ("commit", "remember", "ingest")
SEED, _UNCAPPED, _BULK, _START = 20261128, 10**9, 128, Revision(0)
# In a copy of the schema: the same writes, without a seal.
_UNSEAL = """
create or replace function muniment.seal_lines(at_space uuid, since bigint) returns void language plpgsql as $$
begin
end $$;
create or replace function muniment.seal_addition(
  at_space uuid, memory jsonb, given jsonb, out salt bytea, out content bytea, out line bytea) language plpgsql as $$
begin
end $$"""


@dataclass(slots=True, eq=False)
class Contestant:
    """A memory over a database of its own, and the seconds of each of its writes by the way they were made."""

    memory: Memory
    rev: Revision = _START
    seconds: dict[str, list[float]] = field(default_factory=lambda: {way: [] for way in WAYS})

    async def commit(self, piece: Piece) -> None:
        """A plan that is ready, as one statement."""
        scope, at = Scope(owner="commit"), self.memory.now()
        after = make_memory(piece.candidate(), MemoryId(uuid4()), scope, at)
        change = Change(action="ADD", after=after, vector=piece.vector, band="new")
        plan = WritePlan(scope=scope, expected_rev=self.rev, node="face", at=at, changes=(change,))
        self.rev = (await self.memory.engine.store.writes.commit(plan)).rev

    async def remember(self, piece: Piece) -> None:
        """`Memory.keep_candidates`, whose vector is known: neighbours, merge, commit."""
        candidate = replace(piece.candidate(), kind="episodic")
        await self.memory.keep_candidates(Scope(owner="remember"), [candidate], [])

    async def ingest(self, piece: Piece) -> None:
        """`Memory.ingest` of many at once."""
        many = [Candidate(text=piece.text, category=piece.category, kind="semantic") for _ in range(_BULK)]
        await self.memory.ingest(Scope(owner="ingest"), many)

    async def measure(self, way: str, pieces: Sequence[Piece], *, is_warming: bool) -> None:
        """Write pieces one after the other."""
        for piece in pieces:
            began = perf_counter()
            await getattr(self, way)(piece)
            if not is_warming:
                self.seconds[way].append(perf_counter() - began)


async def measure(writes: int, lines: int) -> dict[str, Any]:
    """Write through both databases in turns, then fill one and verify it."""
    base = settings.load_settings()
    base = base.model_copy(update={"write": base.write.model_copy(update={"per_day": _UNCAPPED})})
    world, known = synthetic.World(SEED), Replay(settings.DEFAULT_EMBEDDER)
    async with AsyncExitStack() as stack:
        names = ("with seals", "without")
        rivals: dict[str, Contestant] = {}
        for name in names:
            own = await stack.enter_async_context(harness.throwaway(base))
            dsn = await bootstrap.ensure_database(own)
            if name == "without":
                async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as admin:
                    await admin.execute(_UNSEAL)
            memory = await stack.enter_async_context(bootstrap.create_memory(own, embedder=known))
            rivals[name] = Contestant(memory)
        machine = await harness.machine(dsn)
        for way in WAYS:
            pieces = alone(world, known, (writes if way != "ingest" else max(writes // 10, BLOCK)) + BLOCK, len(way))
            await _race(list(rivals.values()), way, pieces)
        verified = await _verify(rivals["with seals"].memory, known, lines)
    costs = {way: _compare(*(rivals[name].seconds[way] for name in names)) for way in WAYS}
    return {"writes": writes, "costs": costs, **verified, "machine": machine}


async def _race(rivals: Sequence[Contestant], way: str, pieces: Sequence[Piece]) -> None:
    """Both write the same pieces by turns, each time in the other order; the first block is warming."""
    with harness.bar(way, len(pieces) * len(rivals)) as tick:
        for turn, start in enumerate(range(0, len(pieces), BLOCK)):
            block = pieces[start : start + BLOCK]
            for rival in rivals[:: 1 if turn % 2 else -1]:
                await rival.measure(way, block, is_warming=not turn)
                tick(len(block))


def _compare(sealed: Sequence[float], bare: Sequence[float]) -> dict[str, float]:
    """Milliseconds a write, and how many times the same write without seals."""
    return {
        "sealed_ms_p50": round(float(np.median(sealed)) * 1000, 3),
        "bare_ms_p50": round(float(np.median(bare)) * 1000, 3),
        "ratio_p50": round(float(np.median(sealed) / np.median(bare)), 3),
        "ratio_mean": round(float(np.mean(sealed) / np.mean(bare)), 3),
    }


async def _verify(memory: Memory, known: Replay, lines: int) -> dict[str, Any]:
    scope = Scope(owner="verified")
    vector = np.zeros(synthetic.DIMENSIONS, dtype=np.float32)
    vector[0] = 1.0
    text = "the same statement, which is of an ordinary length and names a place, a person and a day"
    known.known[text] = vector
    with harness.bar("lines", lines) as tick:
        for start in range(0, lines, 10_000):
            some = min(10_000, lines - start)
            await memory.ingest(scope, [Candidate(text=text, category="activity", kind="episodic")] * some)
            tick(some)
    rates = []
    for _ in range(3):
        began = perf_counter()
        report = await memory.admin.verify(scope)
        rates.append(report.lines / (perf_counter() - began))
    return {"lines": report.lines, "findings": len(report.findings), "lines_a_second": round(max(rates))}


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    yield harness.grid(
        "A write with seals beside the same write without",
        ["", "sealed p50 ms", "bare p50 ms", "ratio p50", "ratio of means"],
        [[way, *row.values()] for way, row in found["costs"].items()],
    )
    yield harness.grid(
        "Verification",
        ["", ""],
        [["lines", found["lines"]], ["findings", found["findings"]], ["lines a second", found["lines_a_second"]]],
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.journal", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--writes", type=int, default=400, metavar="N", help="of each kind, in each database")
    parser.add_argument("--lines", type=int, default=100_000, metavar="N", help="of the journal that is verified")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    if args.writes < BLOCK or args.lines < 1:
        parser.error(f"--writes: {BLOCK} or more wanted, --lines: 1 or more")
    return harness.run(measure(args.writes, args.lines), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
