"""What a recall from a server costs a turn: the remote store over real HTTP, beside the same search in this process and
`memory.query`.

python -m benchmarks.plugin_remote [--items 10000] [--queries 300] [--embedder NAME] [--json]

One user has so many items, in a database of its own; `muniment serve` runs as a process. The three answer each question
one after the other, in turns, so that all see the same machine; embedding is part of each. The exit code is 1 where the
p95 of the remote store is not below 300 ms (P-28)."""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from statistics import quantiles
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any
from uuid import UUID

import httpx
from rich.table import Table

from benchmarks import harness
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.query import Query
from muniment.plugin.domain.item import ItemOwner, ItemType, MemoryItem, SearchQuery
from muniment.plugin.item_mapping import make_scope, map_item
from muniment.plugin.stores.engine.store import EngineStore
from muniment.plugin.stores.remote.store import RemoteStore

WANTED_MS = 300.0
WARMING = 20  # questions that are not counted
START_SECONDS = 120.0
CONFIG = "serve: {requests_per_second: 100000, burst: 100000}\n"
PROGRAM = str(Path(sys.executable).with_name("muniment"))
TOOLS = ("pnpm", "Bazel", "Terraform", "Kafka", "Postgres", "Redis", "Grafana", "Vite", "Nomad", "Vault", "Sentry")
PARTS = ("billing", "search", "login", "reports", "mobile app", "gateway", "importer", "scheduler", "archive", "docs")
RULES: Sequence[tuple[ItemType, str]] = (
    ("rule", "The {part} part {n} uses {tool} for every build."),
    ("decision", "The team chose {tool} for the {part} part {n}."),
    ("fix", "The failure {n} of {tool} in the {part} part is fixed by a restart of the runner."),
    ("todo", "The {part} part {n} still has to move to {tool}."),
    ("preference", "The user prefers {tool} for work on the {part} part {n}."),
)


async def measure(base: settings.Settings, *, items: int, queries: int, embedder: str | None) -> dict[str, Any]:
    """Fill a space, ask, and return the times in milliseconds."""
    chosen = base.model_copy(update={"embedder": embedder}) if embedder else base
    owner, random = ItemOwner(tenant="acme", user="ana"), Random(20261128)
    async with harness.throwaway(chosen) as own, bootstrap.open_memory(own) as memory:
        await fill_space(memory, owner, random, items)
        async with serve_database(own) as url:
            async with bootstrap.open_tokens(own, as_owner=True) as tokens:
                token, _ = await tokens.issue_token(tenant=owner.tenant, owner=owner.user)
            remote = RemoteStore(url, token, timeout_seconds=10)
            engine = EngineStore(memory, own.plugin)
            times = await _ask(memory, engine, remote, owner, random, queries)
            await remote.close()
    p95 = {name: take_quantile(each, 95) for name, each in times.items()}
    return {
        "items": items,
        "queries": queries,
        "embedder": chosen.embedder,
        "wanted_ms": WANTED_MS,
        "median_ms": {name: take_quantile(each, 50) for name, each in times.items()},
        "p95_ms": p95,
        "ratio_to_query": {name: round(p95[name] / p95["query"], 2) for name in p95},
        "holds": p95["remote"] < WANTED_MS,
    }


async def fill_space(memory: Memory, owner: ItemOwner, random: Random, items: int) -> None:
    """Write so many items of an owner into a space of the engine."""
    now = datetime.now(UTC)
    scope = make_scope(owner)
    candidates = [
        replace(map_item(make_item(owner, random, number, now)).candidate, turns=(TurnId(UUID(int=number + 1)),))
        for number in range(items)
    ]
    with harness.bar("items", items) as tick:
        await memory.ingest(scope, candidates, tick)


def make_item(owner: ItemOwner, random: Random, number: int, now: datetime) -> MemoryItem:
    """Return an item of an owner whose text no other number gives."""
    kind, text = random.choice(RULES)
    content = text.format(part=random.choice(PARTS), tool=random.choice(TOOLS), n=number)
    return MemoryItem(
        id=str(UUID(int=random.getrandbits(128), version=4)),
        tenant_id=owner.tenant,
        user_id=owner.user,
        type=kind,
        content=content,
        created_at=now - timedelta(hours=number % 2_000),
        importance=random.random(),
    )


async def _ask(
    memory: Memory, engine: EngineStore, remote: RemoteStore, owner: ItemOwner, random: Random, queries: int
) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {"remote": [], "engine": [], "query": []}
    for number in range(WARMING + queries):
        text = f"What do we use {random.choice(TOOLS)} for in the {random.choice(PARTS)} part?"
        query = SearchQuery(owner=owner, text=text, at=datetime.now(UTC))
        ways: list[tuple[str, Callable[[], Awaitable[Any]]]] = [
            ("remote", lambda query=query: remote.search(query)),  # type: ignore[misc] # bound for this round
            ("engine", lambda query=query: engine.search(query)),  # type: ignore[misc] # as above
            ("query", lambda text=text: memory.query(make_scope(owner), "supervisor", Query(text=text))),  # type: ignore[misc] # as above
        ]
        for name, answer in ways[number % 3 :] + ways[: number % 3]:
            began = perf_counter()
            await answer()
            if number >= WARMING:
                times[name].append((perf_counter() - began) * 1000)
    return times


@asynccontextmanager
async def serve_database(own: settings.Settings) -> AsyncIterator[str]:
    """Run the service over a database, and give its address."""
    with socket.socket() as free, TemporaryDirectory() as folder:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        config = Path(folder) / "serve.yaml"
        config.write_text(CONFIG)
        address = own.database_url.get_secret_value() if own.database_url else ""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MUNIMENT_")}
        environment |= {
            "MUNIMENT_DATABASE_URL": address, "MUNIMENT_OWNER_URL": address, "MUNIMENT_EMBEDDER": own.embedder,
            "MUNIMENT_HOME": str(own.home), "MUNIMENT_CONFIG": str(config),
        }  # fmt: skip
        arguments = ("serve", "--no-worker", "--port", str(port))
        process = await asyncio.create_subprocess_exec(
            PROGRAM, *arguments, env=environment, stdout=DEVNULL, stderr=DEVNULL
        )
        try:
            url = f"http://127.0.0.1:{port}"
            await _wait_until_ready(url)
            yield url
        finally:
            process.terminate()
            await process.wait()


async def _wait_until_ready(url: str) -> None:
    async with httpx.AsyncClient(base_url=url) as client:
        until = perf_counter() + START_SECONDS
        while perf_counter() < until:
            with suppress(httpx.TransportError):
                if (await client.get("/ready")).status_code == 200:
                    return
            await asyncio.sleep(0.1)
    raise OSError("the service is not ready")


def take_quantile(times: Sequence[float], percent: int) -> float:
    """Return the time that so many of a hundred are not above."""
    return round(quantiles(times, n=100, method="inclusive")[percent - 1], 2)


def show(report: dict[str, Any]) -> Iterator[Table]:
    """Yield the table of a report."""
    rows = [
        (name, report["median_ms"][name], report["p95_ms"][name], report["ratio_to_query"][name])
        for name in report["p95_ms"]
    ]
    title = f"{report['items']:,} items, {report['queries']} questions, {report['embedder']}"
    yield harness.grid(title, ("", "median ms", "p95 ms", "p95 / memory.query"), rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.plugin_remote", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--embedder", metavar="NAME", help="in place of MUNIMENT_EMBEDDER")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    holds: list[bool] = []

    async def report() -> dict[str, Any]:
        base = settings.load_settings()
        found = await measure(base, items=args.items, queries=args.queries, embedder=args.embedder)
        holds.append(found["holds"])
        return found

    return harness.run(report(), show, as_json=args.json) or int(holds != [True])


if __name__ == "__main__":
    sys.exit(main())
