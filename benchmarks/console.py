"""What a page of the console costs: its time in the service, and its bytes with all that it loads.

python -m benchmarks.console [--memories 10000] [--rounds 50] [--json]

In a home of its own runs `muniment serve` over a memory of so many statements. Each area of a user is opened by a
client that is logged in, one request after the other; the first request of each is not counted. Then the same questions
are asked by `memory.query` and on the page, by turns. The times are those of the client on the same machine. The bytes
are those of the page and of what it loads, as they go over the wire."""

from __future__ import annotations

import argparse
import re
import shutil
import socket
import statistics
import sys
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

import httpx
from rich.table import Table

from benchmarks import harness
from benchmarks.serve import CONFIG, Service, make_environment
from benchmarks.soak import make_home
from muniment.faces.console.app import load_pages
from muniment.faces.console.rendering import make_address
from muniment.memory import bootstrap
from muniment.memory.config import settings
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.stores.postgres.embedded import server

OWNER = Scope(tenant="default", owner="ana")
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
    }


async def measure_questions(client: httpx.AsyncClient, token: str, rounds: int) -> dict[str, Any]:
    """Ask each question by `memory.query` and on the page, in turns; the milliseconds of both, and the share."""
    taken: dict[str, list[float]] = {"query": [], "page": []}
    for number in range(rounds + 1):
        text, agent = f"How many jars are on shelf {number * 7}?", "supervisor"
        requests = {
            "query": client.build_request(
                "POST",
                "/memory/query",
                json={"query": text, "agent": agent},
                headers={"Authorization": f"Bearer {token}"},
            ),
            "page": client.build_request("GET", make_address("/ask", q=text, agent=agent)),
        }
        for name, request in requests.items():
            began = perf_counter()
            answer = await client.send(request)
            answer.raise_for_status()
            if number:  # the first of each is not counted
                taken[name].append(1_000 * (perf_counter() - began))
    medians = {name: statistics.median(each) for name, each in taken.items()}
    return {**{name: round(each, 1) for name, each in medians.items()}, "share": medians["page"] / medians["query"]}


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
        async with bootstrap.open_tokens(chosen, as_owner=True) as tokens:
            token, _ = await tokens.issue_token(tenant=OWNER.tenant, owner=OWNER.owner, scopes=("admin",))
        async with httpx.AsyncClient(base_url=service.url, timeout=60) as client:
            await client.post("/console/login", data={"token": token.get_secret_value()})
            paths = [make_address(area.path) for area in load_pages()[1] if not area.for_operators]
            pages = {path: await measure_page(client, path, args.rounds) for path in paths}
            questions = await measure_questions(client, token.get_secret_value(), args.rounds)
        return {"memories": written, "pages": pages, "questions": questions, "machine": await harness.machine(address)}
    finally:
        if service.process is not None and service.process.returncode is None:
            await service.stop()
        await server.stop_server(service.home)
        shutil.rmtree(home, ignore_errors=True)


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """A row for each area, and one for a question."""
    header = ("page", "p50 ms", "p95 ms", "bytes of the page", "bytes with what it loads")
    rows = [(path, *each.values()) for path, each in found["pages"].items()]
    yield harness.grid(f"The console over {found['memories']:,} memories", header, rows)
    asked = found["questions"]
    row = (asked["query"], asked["page"], f"{asked['share']:.2f}")
    yield harness.grid(
        "A question, with an embedder that costs nothing", ("memory.query, ms", "page, ms", "share"), [row]
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.console", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--memories", type=int, default=10_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=50, metavar="N", help="requests of each page")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    return harness.run(measure(args), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
