"""Whether machines that were apart agree afterwards, and whether a host that is killed loses anything.

python -m benchmarks.plugin_sync [--operations 2000] [--runs 50] [--kills 100] [--json]

A week: two machines with a file each do so many things without their server, then meet it. Runs: forty things each on
two machines while three in ten requests and replies are lost. Kills: a host that writes, sends and compacts over HTTP
is killed (-9) at so many statements and requests, spread over all of them. What fails is counted."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

from rich.table import Table

from benchmarks import harness
from benchmarks.http_cost import open_service
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.plugin.stores.engine.store import EngineStore
from tests.kill_points import choose_points
from tests.plugin_sync.devices import CONTENTS, SETTINGS, Clock, Connection, open_device
from tests.plugin_sync.journeys import Journey
from tests.plugin_sync.kills import check_file, list_steps, run_host

LOST, THINGS = 0.3, 40
_MANY = 1_000_000


def begin(memory: Memory, folder: Path, seed: int, lost: float) -> Journey:
    """Return two machines of a tenant of their own."""
    server, clock, random = EngineStore(memory, SETTINGS), Clock(), Random(seed)
    lines = [Connection(server, random=random, lost=lost) for _ in range(2)]
    devices = [open_device(folder / f"{seed}-{at}.sqlite", line, clock) for at, line in enumerate(lines)]
    return Journey(devices=devices, connections=lines, server=server, clock=clock, random=random)


async def measure_week(own: settings.Settings, folder: Path, operations: int) -> dict[str, Any]:
    """Two machines apart for a week, then together: whether they agree, the requests it took, and the seconds."""
    async with bootstrap.open_memory(own) as memory:
        journey = begin(memory, folder, 7, lost=0.0)
        years = range(1900, 1900 + max(2, operations // 40))
        journey.contents = [f"{content[:-1]} since {year}." for content in CONTENTS for year in years]
        for line in journey.connections:
            line.is_cut = True
        for number in range(operations):
            await journey.do_something(number % 2)
        waiting = [(await device.read_outbox_status()).waiting for device in journey.devices]
        for line in journey.connections:
            line.is_cut = False
        began = perf_counter()
        failure = await _try(journey)
        found = {
            "operations": journey.done,
            "waited": sum(waiting),
            "forgotten": sum(map(len, journey.forgotten)),
            "agree": failure is None,
            "requests": sum(line.batches for line in journey.connections),
            "meeting_s": round(perf_counter() - began, 1),
        }
        await journey.close()
        return found


async def measure_runs(base: settings.Settings, folder: Path, runs: int) -> dict[str, Any]:
    """Random runs over a connection that loses three in ten requests and replies; how many do not agree."""
    failed = []
    with harness.bar("runs", runs) as tick:
        for seed in range(runs):
            async with harness.throwaway(base) as own, bootstrap.open_memory(own) as memory:
                journey = begin(memory, folder, 1000 + seed, lost=LOST)
                for _ in range(THINGS):
                    at = journey.random.randrange(2)
                    is_busy = journey.random.random() < 0.5
                    meets = journey.random.random() < 0.25
                    await (journey.sync(at, is_busy=is_busy) if meets else journey.do_something(at))
                if await _try(journey):
                    failed.append(seed)
                await journey.close()
            tick(1)
    return {"runs": runs, "failed": failed}


async def measure_kills(own: settings.Settings, folder: Path, kills: int) -> dict[str, Any]:
    """Kills over real HTTP; how many lost something, or left something twice."""
    failed = []
    async with AsyncExitStack() as stack:
        memory = await stack.enter_async_context(bootstrap.open_memory(own))
        port, _ = await stack.enter_async_context(open_service(own, memory))
        tokens = await stack.enter_async_context(bootstrap.open_tokens(own, as_owner=True))
        tick = stack.enter_context(harness.bar("kills", kills))
        url = f"http://127.0.0.1:{port}"

        async def issue(tenant: str) -> str:
            token, _ = await tokens.issue_token(tenant=tenant, owner="ana")
            return token.get_secret_value()

        steps = await list_steps(folder / "whole.sqlite", url, await issue("whole"), "whole")
        for number, last in enumerate(choose_points(steps, kills)):
            token, file = await issue(f"kill{number}"), folder / f"kill-{number}.sqlite"
            try:
                _, said = await run_host(file, url, token, f"kill{number}", last)
                await check_file(file, url, token, f"kill{number}", said)
            except AssertionError:
                failed.append(last)
            tick(1)
    return {"kills": kills, "steps": len(steps), "different": len(set(steps)), "failed": failed}


async def _try(journey: Journey) -> str | None:
    """Let both meet the server, and return what does not hold then."""
    try:
        await journey.meet()
        await journey.check_agreement()
    except AssertionError as error:
        return str(error) or "disagree"
    return None


async def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Measure all three."""
    base = settings.load_settings()
    serve = base.serve.model_copy(update={"requests_per_second": _MANY, "burst": _MANY})
    base = base.model_copy(update={"embedder": "hash-256", "serve": serve})
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with harness.throwaway(base) as own:
            found["week"] = await measure_week(own, folder, args.operations)
        found["lossy"] = await measure_runs(base, folder, args.runs)
        async with harness.throwaway(base) as own:
            found["kills"] = await measure_kills(own, folder, args.kills)
    return found


def show(found: dict[str, Any]) -> Iterator[Table]:
    """One table for each part."""
    for name, part in found.items():
        table = Table(title=name)
        for column in part:
            table.add_column(column)
        table.add_row(*(str(value) for value in part.values()))
        yield table


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.plugin_sync", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--operations", type=int, default=2_000, help="in the week; default: 2,000")
    parser.add_argument("--runs", type=int, default=50, help="over a bad connection; default: 50")
    parser.add_argument("--kills", type=int, default=100, help="default: 100")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    return harness.run(measure(args), show, as_json=args.json)


if __name__ == "__main__":
    raise SystemExit(main())
