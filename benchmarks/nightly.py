"""What a night costs: a round over many spaces of which few have changed, and the tending of those, by one worker.

python -m benchmarks.nightly [--memories 10000] [--spaces 100] [--changed 0.05] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any
from uuid import uuid4

from rich.table import Table

from benchmarks import harness, synthetic
from benchmarks.importing import POOL, Known, peak_mb, written
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.jobs import JobOutcome
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import StoreError

SEED = 20261121
NIGHTS = 20  # a space with more pairs than a day may check takes several, before it counts as tended
_WORK = "--work"  # what the worker's process is called with


class Town:
    """Spaces with as many memories each, over an embedder that knows every vector beforehand."""

    def __init__(self, memory: Memory, spaces: int, each: int) -> None:
        self.memory, self.each = memory, each
        self.made = synthetic.World(SEED).memories(0, POOL)
        self.scopes = [Scope(tenant=f"tenant-{n % 20}", owner=synthetic.owner(n)) for n in range(spaces)]

    async def build(self) -> None:
        """Import everything."""
        with harness.bar("memories", len(self.scopes) * self.each) as tick:
            for n, scope in enumerate(self.scopes):
                candidates = [self.candidate(n * self.each + m) for m in range(self.each)]
                written(await self.memory.ingest(scope, candidates), self.each)
                tick(self.each)

    async def change(self, share: float) -> set[str]:
        """One more memory in a share of the spaces; their owners."""
        changed = self.scopes[:: max(1, round(1 / share))] if share else []
        for n, scope in enumerate(changed):
            written(await self.memory.ingest(scope, [self.candidate(POOL * 1_000 + n)]), 1)
        return {scope.owner for scope in changed}

    def candidate(self, n: int) -> Candidate:
        """The n-th memory."""
        one = self.made[n % POOL]
        return Candidate(text=f"{one.text} {n}", category=one.category, confidence=1.0, turns=(TurnId(uuid4()),))


def nightly(own: settings.Settings) -> settings.Settings:
    """Settings by which every night follows at once, and no space waits for its hour."""
    ledger = own.session_ledger.model_copy(update={"cleanup_interval_seconds": 0.01, "run_on_startup": True})
    often = own.consolidation.model_copy(update={"every_hours": 1e-9})
    return own.model_copy(update={"session_ledger": ledger, "consolidation": often})


async def work() -> dict[str, Any]:
    """One night of one worker: a round, then everything that is due. Whom it tended, and its memory before and
    after."""
    heard: list[JobOutcome] = []
    own = nightly(settings.load_settings())
    vectors = [one.vector for one in synthetic.World(SEED).memories(0, POOL)]
    async with (
        bootstrap.create_memory(own, embedder=Known(vectors)) as memory,
        bootstrap.open_worker(own, memory, heard.append, with_schedule=False) as worker,
    ):
        before, started = peak_mb(), perf_counter()
        await memory.jobs.enqueue_due()
        round_seconds = perf_counter() - started
        await worker.run(drain=True)
        seconds = perf_counter() - started
    if failed := [one.error_class for one in heard if one.error_class]:
        raise StoreError(f"{len(failed)} jobs of the night failed, the first with {failed[0]}")
    return {
        "owners": sorted(one.job.scope.owner for one in heard if one.job.name == "tend"),
        "round_seconds": round(round_seconds, 3),
        "seconds": round(seconds, 2),
        "peak_rss_before_mb": round(before, 1),
        "peak_rss_after_mb": round(peak_mb(), 1),
    }


async def night(own: settings.Settings) -> dict[str, Any]:
    """A night in a process of its own. Raises StoreError when it fails."""
    assert own.database_url is not None
    environment = os.environ | {"MUNIMENT_DATABASE_URL": own.database_url.get_secret_value()}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.nightly", _WORK, env=environment, stdout=asyncio.subprocess.PIPE
    )
    try:
        out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.terminate()
    if process.returncode:
        raise StoreError("the worker of the night failed")
    found: dict[str, Any] = json.loads(out)
    return found


async def measure(memories: int, spaces: int, share: float) -> dict[str, Any]:
    """The first nights until nothing is left, a night without a change, then one in which few have changed."""
    async with harness.throwaway(settings.load_settings()) as own:
        vectors = [one.vector for one in synthetic.World(SEED).memories(0, POOL)]
        machine = await harness.machine(await bootstrap.ensure_database(own))
        async with bootstrap.create_memory(own, embedder=Known(vectors)) as memory:
            town = Town(memory, spaces, memories // spaces)
            await town.build()
            first = [await night(own)]
            quiet = await settled(own, first)
            changed = await town.change(share)
            found = await night(own)
    touched = set(found.pop("owners"))
    if touched != changed or quiet["owners"]:
        raise StoreError(
            f"{len(touched ^ changed)} spaces were tended wrongly, {len(quiet['owners'])} without a change"
        )
    return {
        "memories": memories,
        "spaces": spaces,
        "changed": len(changed),
        "seed": SEED,
        "tended": len(touched),
        "spaces_s": round(len(touched) / found["seconds"], 1) if touched else None,
        **found,
        "quiet_round_seconds": quiet["round_seconds"],
        "first_night": {"spaces": len(first[0]["owners"]), "seconds": first[0]["seconds"], "nights": len(first)},
        "machine": machine,
    }


async def settled(own: settings.Settings, nights: list[dict[str, Any]]) -> dict[str, Any]:
    """Nights until one finds nothing to do, or there were too many; the last."""
    while len(nights) < NIGHTS:
        last = await night(own)
        if not last["owners"]:
            return last
        nights.append(last)
    return nights[-1]


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    plain = [[name, value] for name, value in found.items() if name not in ("machine", "first_night")]
    first = [[f"first_night.{name}", value] for name, value in found["first_night"].items()]
    yield harness.grid("A night of one worker", ["", ""], [*plain, *first])


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nightly", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--memories", type=int, default=10_000, metavar="N", help="of all spaces together")
    parser.add_argument("--spaces", type=int, default=100, metavar="N")
    parser.add_argument("--changed", type=float, default=0.05, metavar="SHARE", help="of the spaces, before the night")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(_WORK, action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.work:
        print(json.dumps(asyncio.run(work())))
        return 0
    if args.spaces < 1 or args.memories < args.spaces or not 0 <= args.changed <= 1:
        parser.error("--spaces: 1 or more wanted, --memories: as many or more, --changed: 0 to 1")
    return harness.run(measure(args.memories, args.spaces, args.changed), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
