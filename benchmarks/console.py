"""What a page of the console costs: its time in the service, its bytes with all that it loads, and pages that are open.

python -m benchmarks.console [--memories 10000] [--rounds 50] [--live 50] [--seconds 30] [--json]

In a home of its own runs `muniment serve` over a memory of so many statements. Each area of the console is opened by a
client that is logged in, one request after the other; the first request of each is not counted. The times are those of
the client on the same machine. The bytes are those of the page and of what it loads, as they go over the wire, and with
the page gzipped; the scripts are those of others, gzipped. The page of questions is compared with the same query over
HTTP, one after the other in turn. At the end so many pages follow a memory in which nothing changes: the share of one
core that the service needs for them, less that of the service without them."""

from __future__ import annotations

import argparse
import asyncio
import gzip
import os
import re
import shutil
import socket
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from importlib.resources import files
from pathlib import Path
from time import perf_counter
from typing import Any

import httpx
from rich.table import Table

from benchmarks import harness
from benchmarks.serve import CONFIG, EVENTS, Service, make_environment
from benchmarks.soak import make_home
from muniment.faces.console.app import load_pages
from muniment.faces.console.rendering import make_address
from muniment.memory import bootstrap
from muniment.memory.config import settings
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.stores.postgres.embedded import server

OWNER = Scope(tenant="default", owner="ana")
STREAMS = 10  # that a token may follow at once
TICKS = os.sysconf("SC_CLK_TCK")
CATEGORIES = ("profile", "preferences", "knowledge")
_LOADED = re.compile(r'(?:href|src)="(/console/static/[^"]+)"')


def make_candidates(count: int) -> Iterator[Candidate]:
    """Return statements of which no two are alike."""
    for number in range(count):
        text = f"Shelf {number} in row {number % 97} holds {number * 7919 % 10_007} jars of plum jam."
        yield Candidate(text=text, category=CATEGORIES[number % len(CATEGORIES)])


async def measure_page(client: httpx.AsyncClient, path: str, rounds: int) -> dict[str, Any]:
    """Open a page again and again; its milliseconds and bytes."""
    page = await client.get(path)
    loaded = [await client.get(address) for address in sorted(set(_LOADED.findall(page.text)))]
    taken = []
    for _ in range(rounds):
        began = perf_counter()
        answer = await client.get(path)
        taken.append(1_000 * (perf_counter() - began))
        answer.raise_for_status()
    return {
        "p50": round(statistics.median(taken), 1),
        "p95": round(statistics.quantiles(taken, n=20)[-1], 1),
        "page": int(page.headers["content-length"]),
        "whole": sum(int(each.headers["content-length"]) for each in (page, *loaded)),
        "gzipped": len(gzip.compress(page.content)) + sum(int(each.headers["content-length"]) for each in loaded),
    }


def measure_scripts() -> int:
    """The bytes of the scripts of others, gzipped."""
    folder = files("muniment.faces.console") / "static"
    return sum(len(gzip.compress(each.read_bytes())) for each in folder.iterdir() if each.name.endswith(".min.js"))


async def compare_questions(client: httpx.AsyncClient, token: str, rounds: int) -> dict[str, float]:
    """The milliseconds of the page of a question and of the same query over HTTP, by turns, and how many times as long
    the page takes. The first of each is not counted."""
    headers = {"Authorization": f"Bearer {token}"}
    taken: dict[str, list[float]] = {"page": [], "query": []}
    for number in range(rounds + 1):
        question = f"How many jars are on shelf {number * 7}?"
        requests = {
            "query": client.build_request(
                "POST", "/memory/query", json={"query": question, "agent": "supervisor"}, headers=headers
            ),
            "page": client.build_request("GET", make_address("/ask", q=question, agent="supervisor")),
        }
        for name in ("query", "page") if number % 2 else ("page", "query"):
            began = perf_counter()
            (await client.send(requests[name])).raise_for_status()
            if number:
                taken[name].append(1_000 * (perf_counter() - began))
    found = {name: round(statistics.median(each), 1) for name, each in taken.items()}
    return found | {"ratio": round(found["page"] / found["query"], 2)}


def read_cpu_seconds(pid: int) -> float:
    """The seconds of a processor that a process has used, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


async def measure_live(service: Service, tokens: Sequence[str], pages: int, seconds: float) -> dict[str, float]:
    """The share of a core that the service uses while nobody asks anything, and while pages follow what changes."""
    assert service.process is not None
    pid = service.process.pid

    async def watch() -> float:
        before = read_cpu_seconds(pid)
        await asyncio.sleep(seconds)
        return (read_cpu_seconds(pid) - before) / seconds

    idle = await watch()
    async with AsyncExitStack() as stack:
        for number in range(pages):
            client = await stack.enter_async_context(httpx.AsyncClient(base_url=service.url, timeout=60))
            await client.post("/console/login", data={"token": tokens[number % len(tokens)]})
            stream = client.stream("GET", make_address("/live"), headers=EVENTS)
            answer = await stack.enter_async_context(stream)
            answer.raise_for_status()
        await asyncio.sleep(2)
        busy = await watch()
    return {"pages": pages, "idle": round(idle, 4), "open": round(busy, 4), "share": round(max(0.0, busy - idle), 4)}


async def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Start the service in a home of its own, fill a memory, and open each area."""
    home = make_home(CONFIG)
    environment = make_environment(home)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    service = Service(environment, home / "home", port)
    try:
        address = await server.ensure_server(service.home)
        environment["MUNIMENT_DATABASE_URL"] = environment["MUNIMENT_OWNER_URL"] = address  # else it starts the server
        await service.start()
        await service.wait_until_ready()
        chosen = settings.load_settings(environment)
        async with bootstrap.open_memory(chosen) as memory:
            written = await memory.ingest(OWNER, make_candidates(args.memories))
        async with bootstrap.open_tokens(chosen, as_owner=True) as issuer:
            grants = [
                await issuer.issue_token(tenant=OWNER.tenant, owner=OWNER.owner, scopes=("admin",))
                for _ in range(1 + args.live // STREAMS)
            ]
        tokens = [token.get_secret_value() for token, _ in grants]
        async with httpx.AsyncClient(base_url=service.url, timeout=60) as client:
            await client.post("/console/login", data={"token": tokens[0]})
            areas = [area for area in load_pages()[1] if not area.for_operators]
            pages = {
                path: await measure_page(client, path, args.rounds)
                for path in (make_address(area.path) for area in areas)
            }
            ask = await compare_questions(client, tokens[0], args.rounds)
        live = await measure_live(service, tokens, args.live, args.seconds)
        found = {"memories": written, "pages": pages, "scripts_gzipped": measure_scripts(), "ask": ask, "live": live}
        return found | {"machine": await harness.machine(address)}
    finally:
        if service.process is not None and service.process.returncode is None:
            await service.stop()
        await server.stop_server(service.home)
        shutil.rmtree(home, ignore_errors=True)


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """A row for each area."""
    header = ("page", "p50 ms", "p95 ms", "bytes of the page", "bytes with what it loads", "the same, page gzipped")
    rows = [(path, *each.values()) for path, each in found["pages"].items()]
    yield harness.grid(f"The console over {found['memories']:,} memories", header, rows)
    live, ask = found["live"], found["ask"]
    more = [
        ("scripts of others, gzipped", f"{found['scripts_gzipped']:,} bytes"),
        (f"{live['pages']} open pages", f"{live['share']:.2%} of a core"),
        ("page of a question, times memory.query", f"{ask['ratio']} ({ask['page']} and {ask['query']} ms)"),
    ]
    yield harness.grid("Beside", ("what", "how much"), more)


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.console", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--memories", type=int, default=10_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=50, metavar="N", help="requests of each page")
    parser.add_argument("--live", type=int, default=50, metavar="N", help="open pages that follow what changes")
    parser.add_argument("--seconds", type=float, default=30.0, metavar="S", help="for which they are watched")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    return harness.run(measure(args), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
