"""What several spaces in one answer cost beside one: the same questions by turns, in one run.

python -m benchmarks.several_spaces [--memories 1000] [--queries 300] [--json]

`one` asks for a user whom nobody shares anything with. `three` asks for one who reads a project's and an agent's space
beside the own, `side by side` asks the three spaces with a query each, all at once, and `switched off` is `one` with an
empty `recall.beside`. All spaces have the same number of memories."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from statistics import median
from time import perf_counter
from typing import Any

from rich.table import Table

from benchmarks import harness, synthetic
from benchmarks.contestants import AGENT, K, Replay
from benchmarks.latency import SEED
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate

ALONE, READER = Scope(owner="alone", project="atlas"), Scope(owner="reader", project="atlas")
PROJECT, HELPER = Scope(owner="atlas", owner_type="project"), Scope(owner=AGENT, owner_type="agent")
SPACES = (ALONE, READER, PROJECT, HELPER)
WARM_UP = 20  # questions that are not counted
Ask = Callable[[Query], Awaitable[object]]


async def measure(memories: int, queries: int) -> dict[str, Any]:
    """Load the spaces, share two of them, and ask each question in all four ways, in an order that turns."""
    world = synthetic.World(SEED)
    questions = world.questions(1, queries + WARM_UP)
    async with harness.throwaway(settings.load_settings()) as own:
        machine = await harness.machine(await bootstrap.ensure_database(own))
        async with bootstrap.open_shares(own) as shares:
            for shared in (PROJECT, HELPER):
                await shares.grant_share(shared, READER.owner_scope, by="benchmark")
        replay = Replay(settings.DEFAULT_EMBEDDER, bootstrap.make_embedder(own))
        replay.known |= {asked.text: asked.vector for asked in questions}
        closed = own.model_copy(update={"recall": own.recall.model_copy(update={"beside": ()})})
        async with (
            bootstrap.create_memory(own, embedder=replay) as memory,
            bootstrap.create_memory(closed, embedder=replay) as narrow,
        ):
            await _load(memory, world, replay, memories)
            ways: dict[str, Ask] = {
                "one": lambda query: memory.query(ALONE, AGENT, query),
                "three": lambda query: memory.query(READER, AGENT, query),
                "side by side": lambda query: asyncio.gather(
                    *(narrow.query(each, AGENT, query) for each in (READER, PROJECT, HELPER))
                ),
                "switched off": lambda query: narrow.query(ALONE, AGENT, query),
            }
            spent = await _race(ways, [Query(text=asked.text, top_k=K) for asked in questions])
    medians = {name: median(times[WARM_UP:]) for name, times in spent.items()}
    return {
        "memories": memories,
        "queries": queries,
        "p50_ms": {name: round(1_000 * each, 3) for name, each in medians.items()},
        "ratio_of_three": round(medians["three"] / medians["one"], 2),
        "ratio_side_by_side": round(medians["side by side"] / medians["one"], 2),
        "ratio_to_switched_off": round(medians["one"] / medians["switched off"], 2),
        "machine": machine,
    }


async def _load(memory: Memory, world: synthetic.World, replay: Replay, count: int) -> None:
    behind, replay.behind = replay.behind, None
    for number, scope in enumerate(SPACES):
        made = world.memories(number, count)
        replay.known |= {each.text: each.vector for each in made}
        await memory.ingest(
            scope, [Candidate(text=one.text, category=one.category, kind="semantic", confidence=1.0) for one in made]
        )
    replay.behind = behind


async def _race(ways: dict[str, Ask], queries: Sequence[Query]) -> dict[str, list[float]]:
    """The seconds of each question in each way; who begins changes from question to question."""
    spent: dict[str, list[float]] = {name: [] for name in ways}
    order = list(ways)
    for query in queries:
        for name in order:
            began = perf_counter()
            await ways[name](query)
            spent[name].append(perf_counter() - began)
        order = [*order[1:], order[0]]
    return spent


def show(found: dict[str, Any]) -> Iterator[Table]:
    """The report as a table."""
    rows = [[name, each, round(each / found["p50_ms"]["one"], 2)] for name, each in found["p50_ms"].items()]
    yield harness.grid(f"spaces of {found['memories']:,} memories", ["", "p50 ms", "of one"], rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.several_spaces", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--memories", type=int, default=1_000, help="of each space; default: 1000")
    parser.add_argument("--queries", type=int, default=300, help="default: 300")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    return harness.run(measure(args.memories, args.queries), show, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
