"""What the gateway costs: a search over HTTP beside `memory.query`, and the add and the flush of an exchange.

python -m benchmarks.gateway [--memories 1000] [--queries 400] [--exchanges 100] [--json]

One process, the same questions, as many at once, interleaved. The rules learn; there is no model. The client is a
socket that sends bytes and reads an answer; what it costs counts as HTTP. `chat` is a search in the current chat and
the resources, where the chat has said nothing of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from statistics import quantiles
from time import perf_counter
from typing import Any

from rich.table import Table

from benchmarks import harness, http_cost, synthetic
from benchmarks.contestants import AGENT, K, Replay
from benchmarks.gateways import Connection, lift_limits, make_key, open_gateway
from benchmarks.soak import make_name
from muniment.memory import bootstrap
from muniment.memory.config import settings
from muniment.memory.domain.ids import Vector
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate

CLIENTS = (1, 8, 50)
ASKED = 1.5
SEED = 20261127
_AT = 1_777_896_000_000
Ask = Callable[[synthetic.Asked], Awaitable[None]]


class Embedder(Replay):
    """Knows the vectors of the questions beforehand, does its work for nothing, and embeds what somebody says."""

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        assert self.behind is not None
        vectors = await self.behind.embed_documents(texts)
        return [self.known.get(text, vector) for text, vector in zip(texts, vectors, strict=True)]


async def measure(memories: int, queries: int, exchanges: int) -> dict[str, Any]:
    """Load a space and measure with one client and with several; then let one user say something."""
    world = synthetic.World(SEED)
    made, questions = world.memories(0, memories), world.questions(1, queries)
    scope = Scope(owner=synthetic.owner(0))
    async with harness.throwaway(lift_limits(settings.load_settings())) as own:
        embedder = Embedder("synthetic-384", bootstrap.make_embedder(own))
        embedder.known = {each.text: each.vector for each in made} | {each.text: each.vector for each in questions}
        async with bootstrap.open_memory(own, embedder=embedder) as memory, open_gateway(own, memory) as (port, tokens):
            await memory.ingest(scope, (Candidate(text=each.text, category=each.category) for each in made))
            key = await make_key(tokens, own, scope.owner)
            connections = [Connection(port, scope.owner, key) for _ in range(max(CLIENTS))]

            async def ask_engine(asked: synthetic.Asked) -> None:
                await memory.query(scope, AGENT, Query(text=asked.text, top_k=K))

            def make_ask(connection: Connection, *scopes: str) -> Ask:
                async def ask(asked: synthetic.Asked) -> None:
                    await connection.search(asked.text, "c", *scopes, top_k=K)

                return ask

            found: dict[str, Any] = {}
            for clients in CLIENTS:
                part = connections[:clients]
                ways: dict[str, Sequence[Ask]] = {
                    "engine": [ask_engine] * clients,
                    "http": [make_ask(each, "all_user_memory") for each in part],
                    "chat": [make_ask(each, "current_chat", "resources") for each in part],
                }
                await http_cost.race(questions[: http_cost.BLOCK], ways)
                found[str(clients)] = await http_cost.race(questions, ways)
            turns = await measure_exchanges(Connection(port, "ana", await make_key(tokens, own, "ana")), exchanges)
            return {"memories": memories, "queries": queries, "clients": found, "exchanges": turns} | {
                "machine": await harness.machine(await bootstrap.ensure_database(own))
            }


async def measure_exchanges(ana: Connection, exchanges: int) -> dict[str, Any]:
    """The times of the add and the flush of exchanges in which a person says something, one after the other."""
    times: dict[str, list[float]] = {"add": [], "flush": [], "same add": []}
    for number in range(exchanges):
        said = f"My friend {make_name(number, 1)} lives in Rome."
        messages = [
            {"sender_id": "ana", "role": "user", "timestamp": _AT + 2 * number, "content": said},
            {"sender_id": "beaver", "role": "assistant", "timestamp": _AT + 2 * number + 1, "content": "Noted."},
        ]
        for name, path, fields in (
            ("add", "add", {"messages": messages}),
            ("flush", "flush", {}),
            ("same add", "add", {"messages": messages}),
        ):
            began = perf_counter()
            await ana.post(path, session_id="chat:c", **fields)
            times[name].append(perf_counter() - began)
    cuts = {name: quantiles(each, n=100) for name, each in times.items()}
    return {
        name: {"p50_ms": round(each[49] * 1000, 2), "p95_ms": round(each[94] * 1000, 2)} for name, each in cuts.items()
    }


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """A table for each number of clients, and one for the exchanges."""
    for clients, part in found["clients"].items():
        rows = [(name, *part[name].values()) for name in ("engine", "http", "chat")]
        ratios = [part[f"ratio_{key}"] for key in part["engine"]]
        title = f"{found['queries']} questions, {found['memories']} memories, {clients} at once; at most {ASKED}"
        yield harness.grid(title, ("", "p50 ms", "p95 ms", "CPU ms"), [*rows, ("ratio of http", *ratios)])
    rows = [(name, *each.values()) for name, each in found["exchanges"].items()]
    yield harness.grid("An exchange, without a model", ("", "p50 ms", "p95 ms"), rows)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateway", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--memories", type=int, default=1000, metavar="N")
    parser.add_argument("--queries", type=int, default=400, metavar="N")
    parser.add_argument("--exchanges", type=int, default=100, metavar="N")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    return harness.run(measure(args.memories, args.queries, args.exchanges), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
