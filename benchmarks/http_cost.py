"""What `memory.query` costs over HTTP beside the engine: one process, the same questions, as many at once, interleaved.

python -m benchmarks.http_cost [--memories 1000] [--queries 400] [--no-embedder] [--json]

The client is a socket that sends bytes and reads an answer; what it costs counts as HTTP."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from statistics import quantiles
from time import perf_counter, process_time
from typing import Any

from rich.table import Table

from benchmarks import harness, synthetic
from benchmarks.contestants import AGENT, K, Replay
from muniment.faces.http.server import create_service, listen_on, serve_requests
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate

CLIENTS = (1, 8, 50)
BLOCK = 100  # questions that one way answers before the other has its turn
SEED = 20261127
ASKED = 1.6
Ask = Callable[[synthetic.Asked], Awaitable[None]]


class Connection:
    """A connection to the service, opened again where the service has closed it, as it does after some idle seconds."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, asked: synthetic.Asked) -> None:
        """Send a question and read its answer. Raises OSError for one that is no answer."""
        if self._streams is None or self._streams[0].at_eof():
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        body = json.dumps({"agent": AGENT, "query": asked.text, "top_k": K})
        writer.write(
            f"POST /memory/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self._token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        size = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(size)
        if b" 200 " not in head[:16]:
            raise OSError(head.decode().splitlines()[0])


@asynccontextmanager
async def open_service(own: settings.Settings, memory: Memory) -> AsyncIterator[tuple[int, str]]:
    """The service in this process: its port, and a token."""
    async with bootstrap.open_tokens(own, as_owner=True) as tokens:
        token, _ = await tokens.issue_token(tenant="default", owner=synthetic.owner(0))
        listener = listen_on("127.0.0.1", 0)
        service = create_service(own, memory, tokens)
        serving = asyncio.create_task(serve_requests(service, listener))
        try:
            yield listener.getsockname()[1], token.get_secret_value()
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)


async def race(questions: Sequence[synthetic.Asked], ways: dict[str, Sequence[Ask]]) -> dict[str, Any]:
    """Answer the questions each way, block by block; percentiles, and CPU of this process for each question."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    cpu = dict.fromkeys(ways, 0.0)

    async def client(ask: Ask, waiting: Iterator[synthetic.Asked], found: list[float]) -> None:
        for asked in waiting:
            began = perf_counter()
            await ask(asked)
            found.append(perf_counter() - began)

    for start in range(0, len(questions), BLOCK):
        order = list(ways) if start // BLOCK % 2 else list(ways)[::-1]
        for name in order:
            waiting, began = iter(questions[start : start + BLOCK]), process_time()
            await asyncio.gather(*(client(ask, waiting, seconds[name]) for ask in ways[name]))
            cpu[name] += process_time() - began
    found: dict[str, Any] = {}
    for name, times in seconds.items():
        cuts = quantiles(times, n=100)
        found[name] = {
            "p50_ms": round(cuts[49] * 1000, 2),
            "p95_ms": round(cuts[94] * 1000, 2),
            "cpu_ms": round(cpu[name] / len(times) * 1000, 2),
        }
    ratios = {f"ratio_{key}": round(found["http"][key] / found["engine"][key], 2) for key in found["engine"]}
    return found | ratios


async def measure(memories: int, queries: int, *, embeds: bool) -> dict[str, Any]:
    """Load a space and measure with one client and with several; without the embedder's work unless it `embeds`."""
    base = settings.load_settings()
    serve = base.serve.model_copy(update={"requests_per_second": 1_000_000, "burst": 1_000_000})
    world = synthetic.World(SEED)
    made, questions = world.memories(0, memories), world.questions(1, queries)
    scope = Scope(owner=synthetic.owner(0))
    async with harness.throwaway(base.model_copy(update={"serve": serve, "tenant": "default"})) as own:
        embedder = Replay("synthetic-384", bootstrap.make_embedder(own) if embeds else None)
        embedder.known = {each.text: each.vector for each in made} | {each.text: each.vector for each in questions}
        async with bootstrap.open_memory(own, embedder=embedder) as memory, open_service(own, memory) as (port, token):
            await memory.ingest(scope, (Candidate(text=each.text, category=each.category) for each in made))

            async def ask_engine(asked: synthetic.Asked) -> None:
                await memory.query(scope, AGENT, Query(text=asked.text, top_k=K))

            connections = [Connection(port, token) for _ in range(max(CLIENTS))]
            found: dict[str, Any] = {}
            for clients in CLIENTS:
                ways: dict[str, Sequence[Ask]] = {
                    "engine": [ask_engine] * clients,
                    "http": [connection.ask for connection in connections[:clients]],
                }
                await race(questions[:BLOCK], ways)
                found[str(clients)] = await race(questions, ways)
            return {"memories": memories, "queries": queries, "clients": found} | {
                "machine": await harness.machine(await bootstrap.ensure_database(own))
            }


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """A table for each number of clients."""
    for clients, part in found["clients"].items():
        rows = [(name, *part[name].values()) for name in ("engine", "http")]
        ratios = [part[f"ratio_{key}"] for key in part["engine"]]
        title = f"{found['queries']} questions, {found['memories']} memories, {clients} at once; at most {ASKED}"
        yield harness.grid(title, ("", "p50 ms", "p95 ms", "CPU ms"), [*rows, ("ratio", *ratios)])


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.http_cost", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--memories", type=int, default=1000, metavar="N")
    parser.add_argument("--queries", type=int, default=400, metavar="N")
    parser.add_argument("--no-embedder", action="store_true", help="vectors cost nothing, as those of a distant model")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    return harness.run(measure(args.memories, args.queries, embeds=not args.no_embedder), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
