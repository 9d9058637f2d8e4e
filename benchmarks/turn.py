"""What a turn with memory costs beside the same graph without it: CPU, time, eight threads at once, a thread of 200
turns, and the saver.

python -m benchmarks.turn [--turns 60] [--long 200] [--json]

No model is asked. The plain graph has one node that replies, over LangGraph's own `AsyncPostgresSaver` with a pool; the
other is the supervisor graph of the chat over our saver, with the chat's durability. Both hear the same words in turn,
in one process. `cpu_ratio` and `p50_ratio` are with vectors that are known beforehand, as from an embedder on another
machine; those that end in `_embedder` are with the configured one in this process.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter, process_time
from typing import Any, Literal

import psycopg
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph
from langgraph.pregel import Pregel
from psycopg import AsyncConnection
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool
from rich.table import Table

from benchmarks import harness
from benchmarks.latency import backend_cpu
from muniment.graph.checkpointer import open_saver
from muniment.graph.janitor import measure_threads, prune_threads
from muniment.graph.saver import PooledSaver
from muniment.graph.supervisor import build
from muniment.memory import bootstrap
from muniment.memory.config import settings
from muniment.memory.domain.ids import Vector
from muniment.memory.ports.embedders import Embedder
from muniment.nodes.state import Input, State, Who

Durability = Literal["sync", "async", "exit"]
THREADS = 8
AT_ONCE = 12  # turns of each of the threads
WARM = 4  # turns that do not count
CONNECTIONS = 8
YOUNG = 20
LIMITS = {
    "cpu_ratio": 4.5, "p50_ratio": 5.0, "cpu_ratio_embedder": 10.0, "p50_ratio_embedder": 9.0,
    "turns_per_second_8_of_plain": round(60 / 256, 3), "turn200_to_20": 1.3, "saver_ratio": 1.25, "thread200_mb": 2.0,
}  # fmt: skip
SAID = (
    "My {kin} {name} moved to {city} last spring.", "What should I cook tonight, with {thing}?",
    "I am allergic to {thing}.", "Thanks, that helps!", "The roof of my workshop in {city} leaks again.",
    "Where does my {kin} {name} live?", "I play the {thing} in an amateur group in {city}.",
    "My goal is to visit {city} by June.", "What do you know about {city}?", "I prefer short answers about {thing}.",
    "Yesterday I met {name} at the market, and we talked for an hour about {thing}.", "Which stretches help {name}?",
)  # fmt: skip
KIN = ("sister", "brother", "cousin", "neighbour", "colleague")
NAMES = ("Mara", "Tom", "Ines", "Jonas", "Priya", "Otto", "Wei")
CITIES = ("Utrecht", "Porto", "Graz", "Turku", "Leeds", "Ghent", "Trieste", "Lyon", "Bergen", "Riga", "Cork")
THINGS = ("walnuts", "cello", "moss", "chess", "rye bread", "sailing", "ceramics", "lentils", "bicycles", "bees",
          "old maps", "clocks", "cactus", "amber")  # fmt: skip


def say(number: int) -> str:
    """What is said in this turn: a statement, a question or a thank-you, mostly of other things than before."""
    words = {"kin": KIN, "name": NAMES, "city": CITIES, "thing": THINGS}
    return SAID[number % len(SAID)].format(
        **{name: some[(number * 7 + number // len(some)) % len(some)] for name, some in words.items()}
    )


class KnownVectors:
    """An embedder that has seen its texts before: a vector that it lacks is made once by the one behind."""

    def __init__(self, behind: Embedder) -> None:
        self.name = behind.name
        self._behind = behind
        self._queries: dict[str, Vector] = {}
        self._documents: dict[str, Vector] = {}
        self.missed = 0

    async def embed_query(self, text: str) -> Vector:
        """The vector of a question."""
        if text not in self._queries:
            self.missed += 1
            self._queries[text] = await self._behind.embed_query(text)
        return self._queries[text]

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """One vector for each text."""
        new = [text for text in dict.fromkeys(texts) if text not in self._documents]
        if new:
            self.missed += len(new)
            self._documents |= zip(new, await self._behind.embed_documents(new), strict=True)
        return [self._documents[text] for text in texts]

    async def close(self) -> None:
        """Close the one behind."""
        await self._behind.close()


@dataclass(slots=True)
class Costs:
    """Of each turn: seconds, and seconds of this process's CPU; and those of the database's backends in all."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    backend: float = 0.0


@dataclass(slots=True)
class Side:
    """A compiled graph as somebody's, and how often its saver saved."""

    graph: Pregel[Any, Any, Any, Any]
    user: str
    durability: Durability | None
    calls: dict[str, int]
    costs: Costs = field(default_factory=Costs)

    async def turn(self, thread: str, text: str) -> None:
        """One turn in a thread of this side."""
        await self.graph.ainvoke(
            Input(messages=[HumanMessage(text)]),
            {"configurable": {"thread_id": f"{self.user} {thread}"}},
            context=Who(user=self.user),
            durability=self.durability,
        )


def plain() -> StateGraph[State, Who, Input, State]:
    """The least that replies, without a model and without memory."""

    async def supervisor(state: State) -> State:
        return State(messages=[AIMessage(f"I have read that. ({len(state['messages'])})", name="supervisor")])

    graph = StateGraph(State, context_schema=Who, input_schema=Input)
    graph.add_node("supervisor", supervisor)
    graph.add_edge(START, "supervisor")
    graph.add_edge("supervisor", END)
    return graph


def count_calls(saver: BaseCheckpointSaver[Any]) -> dict[str, int]:
    """Count the saver's writes from now on."""
    calls = {"aput": 0, "aput_writes": 0}

    def counted(name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(saver, name)

        async def call(*args: Any, **more: Any) -> Any:
            calls[name] += 1
            return await method(*args, **more)

        return call

    for name in calls:
        setattr(saver, name, counted(name))
    return calls


@asynccontextmanager
async def open_official(dsn: str) -> AsyncIterator[AsyncPostgresSaver]:
    """LangGraph's saver as its documentation has it, with a pool."""
    pool: AsyncConnectionPool[AsyncConnection[DictRow]] = AsyncConnectionPool(
        make_conninfo(dsn, options="-c search_path=public"),
        min_size=1,
        max_size=CONNECTIONS,
        open=False,
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
    )
    async with pool:
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        yield saver


async def measure(turns: int, long: int) -> dict[str, Any]:
    """All of it in a database of its own."""
    async with harness.throwaway(settings.load_settings()) as own:
        dsn = await bootstrap.ensure_database(own)
        known = KnownVectors(bootstrap.make_embedder(own))
        async with (
            open_official(dsn) as official,
            open_saver(dsn, bootstrap.make_redactor(own), own.tenant) as saver,
            open_saver(dsn, bootstrap.make_redactor(own), own.tenant) as beside,
            open_saver(dsn, bootstrap.make_redactor(own), own.tenant) as bare,
            bootstrap.create_memory(own, embedder=known) as memory,
            bootstrap.create_memory(own) as embedding,
            await psycopg.AsyncConnection.connect(dsn, autocommit=True) as admin,
        ):
            durability = own.checkpoints.durability
            graph = build(memory, None, own).compile(checkpointer=saver)
            sides = {
                "plain": Side(plain().compile(checkpointer=official), "plain", None, count_calls(official)),
                "memory": Side(graph, "memory", durability, count_calls(saver)),
                "embedder": Side(
                    build(embedding, None, own).compile(checkpointer=beside),
                    "embedder",
                    durability,
                    count_calls(beside),
                ),
                "saver": Side(plain().compile(checkpointer=bare), "saver", None, count_calls(bare)),
                # The other durability of each, so that nobody is compared with another's.
                "plain_exit": Side(plain().compile(checkpointer=official), "plain_exit", "exit", {}),
                "memory_async": Side(build(memory, None, own).compile(checkpointer=saver), "memory_async", "async", {}),
            }
            await rehearse(graph, durability, turns, long)
            missed = known.missed
            found = await alone(sides, turns, admin)
            found |= await together(sides)
            found |= await grow(sides["memory"], saver, own, long)
            return {
                **found,
                "vectors_missed": known.missed - missed,
                "durability": durability,
                "limits": LIMITS,
                "machine": await harness.machine(dsn),
            }


async def rehearse(graph: Pregel[Any, Any, Any, Any], durability: Durability, turns: int, long: int) -> None:
    """Say everything once as somebody else, so that the vectors are known and all that is loaded once is loaded."""
    side = Side(graph, "rehearsal", durability, {})
    count = max(turns + WARM, long, AT_ONCE + 3 * THREADS)
    with harness.bar("rehearsal", count) as tick:
        for n in range(count):
            await side.turn(f"{n // YOUNG}", say(n))
            tick(1)


async def alone(sides: dict[str, Side], turns: int, admin: psycopg.AsyncConnection) -> dict[str, Any]:
    """One thread of each side, a turn of each after the other, in changing order; and the ratios."""
    names, own_calls = list(sides), dict[str, dict[str, int]]()
    with harness.bar("one thread each", turns + WARM) as tick:
        for n in range(turns + WARM):
            for name in names[n % len(names) :] + names[: n % len(names)]:
                calls = dict(sides[name].calls)
                spent = await backend_cpu(admin)
                cpu, wall = process_time(), perf_counter()
                await sides[name].turn("alone", say(n))
                taken, busy = perf_counter() - wall, process_time() - cpu
                after = await backend_cpu(admin)
                if n >= WARM:
                    costs = sides[name].costs
                    for call, count in sides[name].calls.items():  # others use the same saver in between
                        counts = own_calls.setdefault(name, {})
                        counts[call] = counts.get(call, 0) + count - calls[call]
                    costs.wall.append(taken)
                    costs.cpu.append(busy)
                    if spent is not None and after is not None:
                        costs.backend += sum(used - spent.get(pid, 0.0) for pid, used in after.items())
            tick(1)
    figures = {name: compute_figures(side, own_calls.get(name, {}), turns) for name, side in sides.items()}

    def ratio(name: str, what: str) -> float:
        return round(figures[name][what] / figures["plain"][what], 2)

    return {
        "turns": turns,
        "cpu_ratio": ratio("memory", "cpu_ms"),
        "p50_ratio": ratio("memory", "p50_ms"),
        "cpu_ratio_embedder": ratio("embedder", "cpu_ms"),
        "p50_ratio_embedder": ratio("embedder", "p50_ms"),
        "cpu_ratio_with_backends": round(
            (figures["memory"]["cpu_ms"] + figures["memory"]["backend_cpu_ms"])
            / (figures["plain"]["cpu_ms"] + figures["plain"]["backend_cpu_ms"]),
            2,
        ),
        "cpu_ratio_both_async": ratio("memory_async", "cpu_ms"),
        "cpu_ratio_both_exit": round(figures["memory"]["cpu_ms"] / figures["plain_exit"]["cpu_ms"], 2),
        "saver_ratio": ratio("saver", "cpu_ms"),
        "sides": figures,
    }


def compute_figures(side: Side, calls: dict[str, int], turns: int) -> dict[str, float]:
    """Milliseconds a turn, and calls of the saver."""
    return {
        "cpu_ms": round(sum(side.costs.cpu) / turns * 1e3, 2),
        "p50_ms": round(median(side.costs.wall) * 1e3, 2),
        "backend_cpu_ms": round(side.costs.backend / turns * 1e3, 2),
        **{name: round(count / turns, 2) for name, count in calls.items()},
    }


async def together(sides: dict[str, Side]) -> dict[str, Any]:
    """Eight threads at once of each side: turns a second, the median of three rounds."""
    rates: dict[str, list[float]] = {"plain": [], "memory": []}
    for round_ in range(3):
        for name, found in rates.items():

            async def talk(side: Side, thread: int, round_: int = round_) -> None:
                for n in range(AT_ONCE):
                    await side.turn(f"together {round_} {thread}", say(n + thread * 3))

            started = perf_counter()
            await asyncio.gather(*(talk(sides[name], thread) for thread in range(THREADS)))
            found.append(THREADS * AT_ONCE / (perf_counter() - started))
    plain_rate, rate = median(rates["plain"]), median(rates["memory"])
    return {
        "turns_per_second_8": round(rate, 1),
        "turns_per_second_8_plain": round(plain_rate, 1),
        "turns_per_second_8_of_plain": round(rate / plain_rate, 3),
    }


async def grow(side: Side, saver: PooledSaver, own: settings.Settings, long: int) -> dict[str, Any]:
    """A thread of many turns beside young ones of the same user: the CPU of its last turns as a multiple of theirs at
    the same moment, and its size before and after the janitor."""
    last = min(40, long // 2)
    costs: dict[str, list[float]] = {"long": [], "young": []}
    with harness.bar("a long thread", long) as tick:
        for n in range(long - last):
            await side.turn("long", say(n))
            tick(1)
        for n in range(last):
            if n % 10 == 0:  # a young thread is at turns 16 to 25 while it is compared
                for early in range(YOUNG - 5):
                    await side.turn(f"young {n}", say(early))
            threads = {"long": "long", "young": f"young {n - n % 10}"}
            for name in sorted(threads, reverse=bool(n % 2)):
                cpu = process_time()
                await side.turn(threads[name], say(long - last + n))
                costs[name].append(process_time() - cpu)
            tick(1)
    key = f"{side.user} long"
    before = await measure_size(saver, key)
    await prune_threads(saver, keep=own.checkpoints.keep, threads=[key])
    return {
        "long": long,
        "turn200_to_20": round(median(costs["long"]) / median(costs["young"]), 2),
        "thread200_mb": round(await measure_size(saver, key) / 1e6, 2),
        "thread200_mb_unpruned": round(before / 1e6, 2),
        "keep": own.checkpoints.keep,
    }


async def measure_size(saver: PooledSaver, thread: str) -> int:
    """What a thread takes, in bytes."""
    return next(one.bytes for one in (await measure_threads(saver, 10_000)).largest if one.thread == thread)


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    header = ["", "CPU ms", "p50 ms", "backend CPU ms", "aput", "aput_writes"]
    rows = [
        [name, *(one.get(key) for key in ("cpu_ms", "p50_ms", "backend_cpu_ms", "aput", "aput_writes"))]
        for name, one in found["sides"].items()
    ]
    yield harness.grid(f"A turn without a model, {found['turns']} of each", header, rows)
    yield harness.grid(
        "Ratios", ["", "measured", "limit"], [[name, found[name], limit] for name, limit in found["limits"].items()]
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turn", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=60, metavar="N", help="of each side, one after the other")
    parser.add_argument("--long", type=int, default=200, metavar="N", help="turns of the long thread")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    if args.turns < 1 or args.long < YOUNG:
        parser.error(f"--turns: 1 or more; --long: {YOUNG} or more")
    return harness.run(measure(args.turns, args.long), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
