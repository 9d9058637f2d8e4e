"""How long bodies that are made to be slow hold up the service: the longest pause of its event loop for each.

python -m benchmarks.http_bodies [--bytes 800000] [--random 1000] [--json]

The application runs in this process without a socket; a ticker beside it measures the pauses. Each body is sent twice,
and the shorter of its two pauses counts: the first may load what is loaded once. Then come random bodies, each made
wrong in one of several ways and of up to 10 MB: `undeclared` counts the answers that the OpenAPI does not name."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any
from uuid import uuid4

import httpx
from rich.table import Table
from starlette.types import ASGIApp, Message

from benchmarks import harness
from benchmarks.hostile import TICK_SECONDS, Ticker
from muniment.faces.http.app import create_app
from muniment.faces.http.server import create_service
from muniment.faces.http.strict_json import MAX_MARKS
from muniment.faces.mcp.endpoint import McpEndpoint
from muniment.memory import bootstrap
from muniment.memory.config import settings

ASKED_MS = 50.0
CHUNK = 65_536
QUERY = b'{"agent":"supervisor","query":"x",'
SAID = "I live in Rome. "
SEED = 20261127
SIZES = (10, 1_000, 100_000, 1_000_000, 10_000_000)
RIGHT = {
    "/memory/query": QUERY[:-1] + b"}",
    "/memory/why-not": b'{"agent":"supervisor","query":"x","id":"0123abcd"}',
    "/memories": b'{"text":"I live in Rome"}',
    "/turns": b'{"session":"s","turns":[{"key":"1","text":"I live in Rome"}]}',
    "/consents/decisions": b'{"approve":true,"ids":[]}',
    "/import": b'{"text":"I live in Rome"}',
}
# What takes the place of a value or a piece of a body: bytes, or a unit that is repeated up to a size.
PIECES = (
    b'"\\ud800"', b'"\xed\xa0\x80"', b'"\xff"', b'"\\u0000"', b'"\x00"',
    b"NaN", b"-Infinity", b"1e999", b"null", b"true",
    b"-1", b"[]", b"{}", b'""', b'"', b"]", b"}", b",", b"",
)  # fmt: skip
UNITS = (
    b"[",
    b'{"a":',
    b"9",
    b'"a",',
    b"{},",
    b'"\\ud800",',
    b" ",
    b"\n",
    b'{"text":"x"}\n',
    b"\\u4e2d",
    b"a ",
    b"\x00",
)


def make_bodies(size: int) -> Iterator[tuple[str, str, bytes]]:
    """Yield bodies of about so many bytes, each with a name and the address that it is for."""

    def fill(unit: bytes) -> bytes:
        return unit * (size // len(unit))

    fields = b",".join(b'"k%d":1' % number for number in range(size // 12))
    turns = [{"key": str(number), "text": SAID * (size // len(SAID) // 52)} for number in range(50)]
    yield "unknown fields", "/memory/query", b"{" + fields + b"}"
    allowed = b",".join(b'"k%d":1' % number for number in range(MAX_MARKS // 2 - 10))
    yield "as many as are read", "/memory/query", b"{" + allowed + b"}"
    yield "unknown filters", "/memory/query", QUERY + b'"filters":{' + fields + b"}}"
    yield "numbers", "/memory/query", QUERY + b'"categories":[' + fill(b"0,") + b"0]}"
    yield "texts", "/memory/query", QUERY + b'"categories":[' + fill(b'"a",') + b'"a"]}'
    yield "objects with a NUL", "/memory/query", QUERY + b'"as_of":"\\u0000","categories":[' + fill(b"{},") + b"0]}"
    yield "objects in place of a text", "/memory/query", b'{"query":{"a":[' + fill(b'{"a":[]},') + b"0]}}"
    yield "deep", "/memory/query", b'{"query":' + fill(b'{"a":') + b"}"
    yield "a long number", "/memory/query", QUERY + b'"top_k":' + fill(b"9") + b"}"
    yield "a long query", "/memory/query", b'{"agent":"supervisor","query":"' + fill(b"word ") + b'"}'
    yield "escapes", "/memory/query", b'{"agent":"supervisor","query":"' + fill(b"\\u4e2d") + b'"}'
    yield "ids", "/consents/decisions", b'{"approve":true,"ids":[' + fill(b'"%s",' % str(uuid4()).encode()) + b'"a"]}'
    yield "aliases", "/memories", b'{"text":"I live in Rome","aliases":[' + fill(b'"a",') + b'"a"]}'
    yield "a long text", "/memories", b'{"text":"' + fill(SAID.encode()) + b'"}'
    yield "objects for turns", "/turns", b'{"session":"s","turns":[' + fill(b"{},") + b"{}]}"
    yield "50 long turns", "/turns", json.dumps({"session": "s", "turns": turns}).encode()
    yield "a message of MCP", "/mcp", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{' + fields + b"}}"
    yield "a line of an import", "/import", b'{"text":"x","a":[' + fill(b"{},") + b"0]}"
    yield "a text of an import", "/import", b'{"text":"' + fill(b"a ") + b'"}'
    yield "50,000 rows", "/import", b'{"text":"x"}\n' * 50_000
    yield "many rows", "/import", b'{"text":"x"}\n' * 50_001


def make_random_bodies(count: int) -> Iterator[tuple[str, bytes]]:
    """Yield so many addresses, each with a right body of which something was replaced."""
    dice = Random(SEED)
    for _ in range(count):
        path = dice.choice(list(RIGHT))
        right = RIGHT[path]
        places = [place for place, char in enumerate(right) if char in b'":,{}[]']
        start, end = sorted(dice.choices(places, k=2))
        if dice.random() < 0.5:
            piece = dice.choice(PIECES)
        else:
            unit = dice.choice(UNITS)
            piece = unit * (dice.choice(SIZES) // len(unit))
        yield path, right[: start + 1] + piece + right[end:]


async def read_declared(app: ASGIApp) -> dict[str, set[str]]:
    """The statuses that the OpenAPI names for a POST to each address."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as client:
        paths = (await client.get("/openapi.json")).json()["paths"]
    return {path: set(paths[path]["post"]["responses"]) for path in RIGHT}


async def send_random(app: ASGIApp, token: str, ticker: Ticker, count: int) -> dict[str, Any]:
    """Send random bodies; the answers, those that are not declared, and the longest pauses."""
    declared, statuses = await read_declared(app), Counter[str]()
    undeclared, pauses = 0, list[tuple[float, str, int]]()
    with harness.bar("bodies", count) as tick:
        for path, body in make_random_bodies(count):
            ticker.longest = 0.0
            status = await post(app, path, token, body)
            await asyncio.sleep(2 * TICK_SECONDS)
            statuses[str(status)] += 1
            undeclared += str(status) not in declared[path]
            pauses.append((round(ticker.longest * 1000, 1), f"{path} {body[:60]!r}", len(body)))
            tick(1)
    pauses.sort(reverse=True)
    over = sum(pause > ASKED_MS for pause, *_ in pauses)
    return {"statuses": dict(statuses), "undeclared": undeclared, "over": over, "longest": pauses[:5]}


async def post(app: ASGIApp, path: str, token: str, body: bytes) -> int:
    """Send a body in chunks, as a server gets it; the status of the answer."""
    chunks = iter([body[place : place + CHUNK] for place in range(0, len(body), CHUNK)])
    sent, left, gone = list[Message](), len(body), asyncio.Event()

    async def receive() -> Message:
        nonlocal left
        await asyncio.sleep(0)
        if (chunk := next(chunks, None)) is None:
            await gone.wait()
            return {"type": "http.disconnect"}
        left -= len(chunk)
        return {"type": "http.request", "body": chunk, "more_body": left > 0}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = {"authorization": f"Bearer {token}", "content-type": "application/json", "content-length": len(body)}
    pairs = [(name.encode(), str(value).encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": pairs, "root_path": ""}
    await app(scope, receive, send)
    return int(sent[0]["status"])


async def measure(size: int, count: int) -> dict[str, Any]:
    """Send each body and note the pause, then so many random ones."""
    base = settings.load_settings()
    serve = base.serve.model_copy(update={"requests_per_second": 1_000_000, "burst": 1_000_000})
    base = base.model_copy(update={"embedder": settings.HASH_EMBEDDER, "serve": serve})
    async with (
        harness.throwaway(base) as own,
        bootstrap.open_memory(own) as memory,
        bootstrap.open_tokens(own, as_owner=True) as tokens,
    ):
        token, _ = await tokens.issue_token(tenant="default", owner="ana")
        service, ticker = create_service(own, memory, tokens), Ticker()
        mcp = McpEndpoint(memory, tokens.key, service.ending)
        app = create_app(service, mcp)
        ticking = asyncio.create_task(ticker.run())
        found: dict[str, Any] = {}
        async with mcp.run():
            await post(app, "/memory/query", token.get_secret_value(), QUERY[:-1] + b"}")
            gc.collect()
            gc.freeze()  # as the service does when it starts
            for name, path, body in make_bodies(size):
                pauses = []
                for _ in range(2):
                    await asyncio.sleep(0.05)
                    ticker.longest = 0.0
                    status = await post(app, path, token.get_secret_value(), body)
                    await asyncio.sleep(2 * TICK_SECONDS)
                    pauses.append(ticker.longest)
                found[name] = {"path": path, "status": status, "pause_ms": round(min(pauses) * 1000, 1)}
            randomly = await send_random(app, token.get_secret_value(), ticker, count)
        ticking.cancel()
        machine = await harness.machine(await bootstrap.ensure_database(own))
    return {"bytes": size, "bodies": found, "random": randomly, "machine": machine}


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report as one table."""
    rows = [(name, *each.values(), ASKED_MS) for name, each in found["bodies"].items()]
    yield harness.grid(f"bodies of {found['bytes']:,} bytes", ("body", "address", "status", "pause ms", "asked"), rows)
    made = found["random"]
    title = f"random bodies: {made['statuses']}, {made['undeclared']} undeclared, {made['over']} over {ASKED_MS:g} ms"
    yield harness.grid(title, ("pause ms", "body", "bytes"), made["longest"])


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.http_bodies", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--bytes", type=int, default=800_000, metavar="N")
    parser.add_argument("--random", type=int, default=1_000, metavar="N", help="bodies that are made up")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    return harness.run(measure(args.bytes, args.random), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
