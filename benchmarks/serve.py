"""Whether the HTTP service keeps what it has acknowledged, and tells it to nobody else.

python -m benchmarks.serve [--kills 50] [--away 30] [--seconds 60] [--clients 50] [--seed 20261127] [--json]

In a home of its own runs `muniment serve`. First clients write with idempotency keys while it is killed with SIGKILL
again and again: each write that was acknowledged must be there once. Then the database is away for some seconds: the
service has to refuse with 503, to go on by itself, and its stream of changes must have no gap. Then many clients of two
users in each of two tenants write and read at once: nobody may see a word of another. At the end clients go away in the
middle of requests: nothing of them may be left. The exit code is 1 where anything does not hold."""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import shutil
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import psycopg
from rich.table import Table

from benchmarks import harness
from benchmarks.soak import PROGRAM, make_home, make_name
from muniment.memory.bootstrap import open_tokens
from muniment.memory.config import settings
from muniment.memory.stores.postgres.embedded import server

CONFIG = "serve: {requests_per_second: 100000, burst: 100000, streams: 1000, notice_seconds: 0}\n"
OWNERS = [(tenant, user) for tenant in ("acme", "other") for user in ("ana", "bo")]
WRITERS = 8
PAUSE_SECONDS = 0.2
TICK_SECONDS = 0.005
MAX_ANSWERS = 24  # between two kills
PATIENCE_SECONDS = 120.0
GONE = 200
_ENDED = ("06", "0A")  # of sockets in /proc: what waits for its time to pass, and what listens
EVENTS = {"Accept": "text/event-stream"}
FOUND = """
select s.tenant_id, s.owner_id, m.memory_id::text, m.text, (
  select count(*) from muniment.journal j
  where j.space_id = m.space_id and j.memory_id = m.memory_id and j.action = 'ADD')
from muniment.memories m join muniment.spaces s using (space_id)
"""


@dataclass(slots=True)
class Service:
    """The process, on a port that stays, and a token of each owner."""

    environment: dict[str, str]
    home: Path
    port: int
    tokens: dict[tuple[str, str], str] = field(default_factory=dict)
    process: Process | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start it; it may not be ready yet."""
        arguments = ("serve", "--port", str(self.port))
        self.process = await asyncio.create_subprocess_exec(
            PROGRAM, *arguments, env=self.environment, stdout=DEVNULL, stderr=DEVNULL
        )

    async def kill(self) -> None:
        """Kill it as a crash does."""
        assert self.process is not None
        self.process.kill()
        await self.process.wait()

    async def stop(self) -> int:
        """End it as an operator does; the exit code."""
        assert self.process is not None
        self.process.terminate()
        return await self.process.wait()

    async def wait_until_ready(self) -> float:
        """Wait for it; the seconds."""
        began = monotonic()
        async with httpx.AsyncClient(base_url=self.url) as client:
            while monotonic() - began < PATIENCE_SECONDS:
                with suppress(httpx.TransportError):
                    if (await client.get("/ready")).status_code == 200:
                        return monotonic() - began
                await asyncio.sleep(PAUSE_SECONDS)
        raise OSError("the service is not ready")

    def open_client(self, owner: tuple[str, str]) -> httpx.AsyncClient:
        """A client with the token of an owner."""
        headers = {"Authorization": f"Bearer {self.tokens[owner]}"}
        return httpx.AsyncClient(base_url=self.url, headers=headers, timeout=60)


@dataclass(slots=True)
class Writing:
    """Clients that write with keys, what was acknowledged to them, and the answers that were none."""

    service: Service
    prefix: str
    kept: dict[tuple[tuple[str, str], str], str] = field(default_factory=dict)  # the owner and the name -> the id
    seen: Counter[str] = field(default_factory=Counter)
    is_over: bool = False

    async def write(self, number: int) -> None:
        """Write one statement after the other; each is sent with its key until it is acknowledged."""
        owner, count = OWNERS[number % len(OWNERS)], 0
        async with self.service.open_client(owner) as client:
            while not self.is_over:
                name, key = make_name(number, count), f"{self.prefix} {number} {count}"
                body = {"text": f"My friend {self.prefix}{name} plays the cello."}
                id_ = await self._send(client, key, body)
                while id_ is None:
                    await asyncio.sleep(PAUSE_SECONDS)
                    id_ = await self._send(client, key, body)
                self.kept[owner, self.prefix + name] = id_
                count += 1

    async def _send(self, client: httpx.AsyncClient, key: str, body: dict[str, str]) -> str | None:
        try:
            answer = await client.post("/memories", json=body, headers={"Idempotency-Key": key})
        except httpx.TransportError:
            self.seen["cut off"] += 1
            return None
        self.seen[str(answer.status_code)] += 1
        if answer.status_code == 503 and "retry-after" not in answer.headers:
            self.seen["503 without Retry-After"] += 1
        if not answer.is_success:
            return None
        changes = answer.json()["changes"]
        return str(changes[0]["id"]) if changes else "nothing was kept"

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Write while the context is open; then each client gets its last acknowledgement."""
        writers = [asyncio.create_task(self.write(number)) for number in range(WRITERS)]
        try:
            yield
        except BaseException:
            for writer in writers:
                writer.cancel()
            raise
        self.is_over = True
        await asyncio.gather(*writers)

    async def wait_for(self, count: int) -> None:
        """Wait until so many writes are acknowledged."""
        for _ in range(int(PATIENCE_SECONDS / TICK_SECONDS)):
            if len(self.kept) >= count:
                return
            await asyncio.sleep(TICK_SECONDS)

    async def audit(self, address: str) -> dict[str, int]:
        """Count what was acknowledged and is not there once, under its id, added once."""
        async with await psycopg.AsyncConnection.connect(address, autocommit=True) as conn:
            rows = await (await conn.execute(FOUND)).fetchall()
        there: dict[tuple[tuple[str, str], str], list[tuple[str, int]]] = {}
        for tenant, user, id_, text, added in rows:
            for word in re.findall(rf"{self.prefix}\w+", text):
                there.setdefault(((tenant, user), word), []).append((id_, added))
        found = [there.get(one, []) for one in self.kept]
        return {
            "lost": sum(not each for each in found),
            "doubled": sum(len(each) > 1 or any(added != 1 for _, added in each) for each in found),
            "other id": sum(
                each[:1] != [(id_, 1)] for each, id_ in zip(found, self.kept.values(), strict=True) if each
            ),
        }


async def measure_kills(service: Service, address: str, kills: int, dice: random.Random) -> dict[str, Any]:
    """Kill the service under load again and again; what was acknowledged, and what of it does not hold."""
    writing = Writing(service, "Kil")
    async with writing.run():
        for _ in range(kills):
            await service.wait_until_ready()
            await writing.wait_for(len(writing.kept) + dice.randint(1, MAX_ANSWERS))
            await asyncio.sleep(dice.uniform(0, PAUSE_SECONDS))
            await service.kill()
            await service.start()
        await service.wait_until_ready()
    broken = await writing.audit(address)
    return {"kills": kills, "acknowledged": len(writing.kept), "seen": dict(writing.seen), "broken": broken}


async def measure_outage(service: Service, address: str, away: float) -> dict[str, Any]:
    """Take the database away; how the service refuses, and how it comes back."""
    writing, revisions, states = Writing(service, "Out"), list[int](), Counter[str]()
    pid = service.process.pid if service.process else 0
    async with service.open_client(OWNERS[0]) as client, writing.run():
        since = (await client.get("/memory/changes", params={"limit": 1})).json()["rev"]
        following = asyncio.create_task(_follow(service, since, revisions))
        await asyncio.sleep(2)
        await server.stop_server(service.home)
        until = monotonic() + away
        while monotonic() < until:
            for path in ("/ready", "/health"):
                states[f"{path} {(await client.get(path)).status_code}"] += 1
            await asyncio.sleep(1)
        await server.ensure_server(service.home)
        back = await service.wait_until_ready()
        await asyncio.sleep(3)
    async with service.open_client(OWNERS[0]) as client:
        rev = (await client.get("/memory/changes", params={"since": since, "limit": 1})).json()["rev"]
    for _ in range(int(PATIENCE_SECONDS / PAUSE_SECONDS)):
        if revisions[-1:] == [rev] or following.done():
            break
        await asyncio.sleep(PAUSE_SECONDS)
    following.cancel()
    broken = await writing.audit(address) | {
        "gaps of the stream": int(revisions != list(range(since + 1, rev + 1))),
        "ready without a database": states["/ready 200"] if states["/ready 200"] > 2 else 0,
        "not alive": sum(
            count for state, count in states.items() if state.startswith("/health") and "200" not in state
        ),
        "restarts": int(service.process is None or service.process.pid != pid),
    }
    seen = dict(states | writing.seen)
    return {"away_seconds": away, "back_seconds": round(back, 1), "acknowledged": len(writing.kept), "events": len(
        revisions), "seen": seen, "broken": broken}  # fmt: skip


async def _follow(service: Service, since: int, revisions: list[int]) -> None:
    """Add the revisions of a stream of changes as they come."""
    async with (
        service.open_client(OWNERS[0]) as client,
        client.stream("GET", "/memory/changes", params={"since": since}, headers=EVENTS, timeout=None) as answer,
    ):
        async for line in answer.aiter_lines():
            revisions += [int(line.removeprefix("id: "))] if line.startswith("id: ") else []


async def measure_crosstalk(service: Service, clients: int, seconds: float) -> dict[str, Any]:
    """Let many clients write and read at once; the words of another that they have seen."""
    seen, until = Counter[str](), monotonic() + seconds

    async def live(number: int) -> None:
        owner, count = OWNERS[number % len(OWNERS)], 0
        mark = "Mark" + "".join(owner)
        async with service.open_client(owner) as client:
            while monotonic() < until:
                count += 1
                text = f"My friend {make_name(number, count)} lives beside {mark}"
                answers = [
                    await client.post("/memories", json={"text": text}),
                    await client.post("/memory/query", json={"agent": "supervisor", "query": "who lives beside whom?"}),
                    await client.get("/memories", params={"contains": "friend", "limit": 20}),
                    await client.get("/context", params={"agent": "supervisor", "text": "who lives beside whom?"}),
                    await client.get("/memory/changes", params={"limit": 20}),
                ]
                for answer in answers:
                    seen[str(answer.status_code)] += 1
                    seen["foreign"] += len(set(re.findall(r"Mark\w+", answer.text)) - {mark})

    await asyncio.gather(*map(live, range(clients)))
    foreign = seen.pop("foreign")
    refused = sum(count for status, count in seen.items() if status not in ("200", "201", "409"))
    return {"clients": clients, "seconds": seconds, "requests": seen.total(), "seen": dict(seen),
            "broken": {"foreign": foreign, "refused": refused}}  # fmt: skip


async def measure_gone(service: Service) -> dict[str, Any]:
    """Let clients go away in the middle of requests and streams; what is left of them."""
    token = service.tokens[OWNERS[0]]
    body = b'{"agent":"supervisor","query":"hint"}'
    head = f"HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
    requests = (
        f"POST /memory/query {head}Content-Length: {len(body)}\r\n\r\n".encode() + body,
        f"POST /memory/query {head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:5],
        f"GET /memory/changes {head}Accept: text/event-stream\r\n\r\n".encode(),
        f"GET /export {head}\r\n".encode(),
    )
    before = _count_sockets(service)
    for number in range(GONE):
        with socket.create_connection(("127.0.0.1", service.port)) as client:
            client.sendall(requests[number % len(requests)])
            await asyncio.sleep(0.01)
    until, active, sockets = monotonic() + 20, "", 0
    async with httpx.AsyncClient(base_url=service.url) as client:
        while monotonic() < until:
            text = (await client.get("/metrics")).text
            active = next(line for line in text.splitlines() if line.startswith("muniment_requests_active{"))
            sockets = _count_sockets(service) - 1  # that of this client
            if active.endswith(" 1.0") and sockets <= before:
                break
            await asyncio.sleep(PAUSE_SECONDS)
    left = float(active.rpartition(" ")[2]) - 1
    broken = {"requests left": int(left), "sockets left": max(0, sockets - before)}
    return {"gone": GONE, "broken": broken, "seen": {}}


def _count_sockets(service: Service) -> int:
    """The open connections of the process to its clients, where the system tells it."""
    folder = Path("/proc") / str(service.process.pid if service.process else 0) / "net" / "tcp"
    if not folder.exists():
        return 0
    rows = [line.split() for line in folder.read_text().splitlines()[1:]]
    return sum(row[1].endswith(f":{service.port:04X}") and row[3] not in _ENDED for row in rows)


def make_environment(home: Path) -> dict[str, str]:
    """What the processes of a run see: its home and settings, and an embedder that costs nothing."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MUNIMENT_", "OPENAI_"))}
    return kept | {
        "MUNIMENT_HOME": str(home / "home"),
        "MUNIMENT_CONFIG": str(home / "soak.yaml"),
        "MUNIMENT_EMBEDDER": settings.HASH_EMBEDDER,
    }


async def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Start the service in a home of its own and do all of it, one after the other."""
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
        async with open_tokens(settings.load_settings(environment), as_owner=True) as tokens:
            for tenant, user in OWNERS:
                token, _ = await tokens.issue_token(tenant=tenant, owner=user)
                service.tokens[tenant, user] = token.get_secret_value()
        found: dict[str, Any] = {}
        if args.kills:
            found["kills"] = await measure_kills(service, address, args.kills, random.Random(args.seed))
        if args.away:
            found["outage"] = await measure_outage(service, address, args.away)
        if args.seconds:
            found["crosstalk"] = await measure_crosstalk(service, args.clients, args.seconds)
        found["clients that go away"] = await measure_gone(service)
        found["end"] = {"broken": {"exit code": await service.stop()}, "seen": {}}
        return found | {"machine": await harness.machine(address)}
    finally:
        if service.process is not None and service.process.returncode is None:
            await service.kill()
        await server.stop_server(service.home)
        shutil.rmtree(home, ignore_errors=True)


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """What was done, and what does not hold."""
    for name, part in found.items():
        if name == "machine":
            continue
        rows = [(key, value) for key, value in part.items() if key not in ("seen", "broken")]
        broken = [(f"broken: {key}", value) for key, value in part["broken"].items()]
        yield harness.grid(name, ("what", "count"), [*rows, *part["seen"].items(), *broken])


def main(argv: Sequence[str] | None = None) -> int:
    """The command; the exit code is 1 where anything does not hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--kills", type=int, default=50, metavar="N")
    parser.add_argument("--away", type=float, default=30.0, metavar="SECONDS", help="of the database")
    parser.add_argument("--seconds", type=float, default=60.0, help="of many clients at once")
    parser.add_argument("--clients", type=int, default=50, metavar="N")
    parser.add_argument("--seed", type=int, default=20261127, metavar="N")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    broken = 0

    async def report() -> dict[str, Any]:
        nonlocal broken
        found = await measure(args)
        broken = sum(sum(part.get("broken", {}).values()) for part in found.values())
        return found

    code = harness.run(report(), tables, as_json=args.json)
    return code or int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
