"""What a question and a turn cost while their own space is consolidated by another process, against the same when it is not.

python -m benchmarks.meanwhile [--memories 1000] [--seconds 4] [--rounds 6] [--json]

Calm and busy windows in turns. Busy: a worker process consolidates the very space that is asked, again and again from the
start, without a pause between two runs - much more than a night ever does.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from statistics import median
from time import perf_counter
from typing import Any
from uuid import uuid4

import psycopg
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr
from rich.table import Table

from benchmarks import harness, synthetic
from muniment.graph.supervisor import build
from muniment.memory import bootstrap, settings
from muniment.memory.engine import Memory
from muniment.memory.records import Candidate, Query, Scope, TurnId
from muniment.nodes.state import Input, Who

SEED = 20261121
OWNER = "busy"
LIMIT = 1.3
AGENT = "supervisor"


async def measure(memories: int, seconds: float, rounds: int) -> dict[str, Any]:
    """Medians of both kinds of window, over all rounds, and their ratio."""
    async with harness.throwaway(settings.load()) as own:
        dsn = await bootstrap.database(own)
        machine = await harness.machine(dsn)
        async with bootstrap.memory(own) as memory:
            texts = await _fill(memory, memories)
            turns = _Turns(own, memory)
            took: dict[str, dict[str, list[float]]] = {"calm": {}, "busy": {}}
            runs = 0
            with harness.bar("windows", 2 * rounds) as tick:
                for _ in range(rounds):
                    await _window(memory, turns, texts, seconds, took["calm"])
                    tick(1)
                    async with _consolidating(dsn) as seen:
                        await _window(memory, turns, texts, seconds, took["busy"])
                    runs += seen["runs"]
                    tick(1)
    found = {what: {kind: round(median(took[kind][what]) * 1000, 2) for kind in took} for what in took["calm"]}
    return {
        "memories": memories,
        "seconds": seconds,
        "rounds": rounds,
        "runs": runs,
        "of": {what: one | {"ratio": round(one["busy"] / one["calm"], 2)} for what, one in found.items()},
        "limit": LIMIT,
        "machine": machine,
    }


class _Turns:
    """Turns of a conversation without a model: what the graph itself costs, and nothing that hides it."""

    def __init__(self, own: settings.Settings, memory: Memory) -> None:
        self._graph = build(memory, None, own).compile(checkpointer=InMemorySaver())
        self._said = 0

    async def say(self, text: str) -> None:
        self._said += 1
        config: Any = {"configurable": {"thread_id": f"thread {self._said % 8}"}}
        await self._graph.ainvoke(Input(messages=[HumanMessage(text)]), config, context=Who(user=OWNER))


async def _fill(memory: Memory, count: int) -> list[str]:
    world = synthetic.World(SEED)
    made = world.memories(0, count)
    turns = (TurnId(uuid4()) for _ in made)
    some = [
        Candidate(text=one.text, category=one.category, kind="semantic", importance=3, turns=(turn,))
        for one, turn in zip(made, turns, strict=True)
    ]
    await memory.ingest(Scope(owner=OWNER), some)
    return [one.text for one in world.questions(1, 200)]


async def _window(
    memory: Memory, turns: _Turns, texts: Sequence[str], seconds: float, took: dict[str, list[float]]
) -> None:
    """Questions and turns one after the other for so long."""
    end = perf_counter() + seconds
    queries, replies = took.setdefault("query", []), took.setdefault("turn", [])
    while perf_counter() < end:
        text = texts[(len(queries) + len(replies)) % len(texts)]
        started = perf_counter()
        await memory.query(Scope(owner=OWNER), AGENT, Query(text=text))
        queries.append(perf_counter() - started)
        if len(queries) % 4 == 0:
            started = perf_counter()
            await turns.say(text)
            replies.append(perf_counter() - started)


@asynccontextmanager
async def _consolidating(dsn: str) -> AsyncIterator[dict[str, int]]:
    """A process that consolidates meanwhile; at the end how many runs it has made."""
    seen = {"runs": 0}
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.meanwhile", "--consolidate",
        env=os.environ | {"MUNIMENT_DATABASE_URL": dsn}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert child.stdout is not None
    await child.stdout.readline()  # its first run is over: it is warm
    try:
        yield seen
    finally:
        child.send_signal(signal.SIGINT)
        out, _ = await child.communicate()
        seen["runs"] = len(out.splitlines())


async def _consolidate() -> None:
    """Forget what was checked, and check it again."""
    own = settings.load()
    scope = Scope(owner=OWNER)
    address = await bootstrap.database(own)
    async with (
        bootstrap.memory(own.model_copy(update={"database_url": SecretStr(address)})) as memory,
        await psycopg.AsyncConnection.connect(address, autocommit=True) as admin,
    ):
        while True:
            await admin.execute("delete from muniment.pair_fingerprints")
            await memory.consolidate(scope, limit=400)
            print("run", flush=True)


def show(found: dict[str, Any]) -> Iterator[Table]:
    """One table."""
    yield harness.grid(
        f"A space of {found['memories']:,} memories while it is consolidated ({found['runs']} runs)",
        ["", "calm p50 ms", "busy p50 ms", "ratio"],
        [[what, one["calm"], one["busy"], one["ratio"]] for what, one in found["of"].items()],
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.meanwhile", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--memories", type=int, default=1000, metavar="N")
    parser.add_argument("--seconds", type=float, default=4.0, metavar="S", help="of a window")
    parser.add_argument("--rounds", type=int, default=6, metavar="N", help="windows of each kind")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--consolidate", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.consolidate:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_consolidate())
        return 0
    return harness.run(measure(args.memories, args.seconds, args.rounds), show, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
