"""Threads saved and loaded beside the official saver alone, their size before and after the janitor, and many at once.

python -m benchmarks.checkpoints [--messages 300] [--turns 100] [--threads 32] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from statistics import median
from time import perf_counter
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from rich.table import Table

from benchmarks import harness
from muniment.graph.checkpointer import open_saver
from muniment.graph.janitor import measure_threads, prune_threads
from muniment.graph.saver import PooledSaver
from muniment.graph.supervisor import build
from muniment.memory import bootstrap
from muniment.memory.config import settings
from muniment.nodes.state import Input, Who

SEED = 20240502
ROUNDS = 60
WARM = 10  # rounds that do not count
TURN_CHARS = 600
OPS = 12  # saves and loads of each of the threads at once
LAST = 20  # turns of a long thread that are timed
LIMITS = {"both": 1.3, "bytes": 1_000_000}


class Step:
    """Saves and loads a thread by one saver, as a step of a graph does."""

    def __init__(self, saver: AsyncPostgresSaver, thread: str, messages: Sequence[AnyMessage]) -> None:
        self._saver, self._thread, self._messages = saver, thread, [*messages]
        self._parent: dict[str, str] = {}
        self._version: str | None = None
        self._number = 0

    async def save(self, text: str) -> None:
        """A checkpoint with one more message, and what its task wrote."""
        self._number += 1
        said = HumanMessage(text, id=f"{self._thread}-{self._number}")
        self._messages = [*self._messages[1:], said]
        version = self._version = self._saver.get_next_version(self._version, None)
        checkpoint = empty_checkpoint()
        checkpoint["id"] = str(uuid6())
        checkpoint["channel_values"] = {"messages": self._messages, "stable": "Name: Ana", "rev": self._number}
        checkpoint["channel_versions"] = dict.fromkeys(checkpoint["channel_values"], version)
        where = {"thread_id": self._thread, "checkpoint_ns": ""}
        await self._saver.aput(
            {"configurable": {**where, **self._parent}},
            checkpoint,
            {"source": "loop", "step": self._number, "parents": {}},
            checkpoint["channel_versions"],
        )
        self._parent = {"checkpoint_id": checkpoint["id"]}
        task = str(uuid4())
        await self._saver.aput_writes(
            {"configurable": {**where, **self._parent}}, [("messages", [said]), ("rev", self._number)], task
        )

    async def load(self) -> None:
        """The newest checkpoint."""
        await self._saver.aget_tuple({"configurable": {"thread_id": self._thread, "checkpoint_ns": ""}})


async def long(saver: PooledSaver, official: AsyncPostgresSaver, count: int, dice: random.Random) -> dict[str, Any]:
    """A thread of so many messages by both savers over the same pool, in turn; medians in ms, and ours as a
    multiple."""
    messages: list[AnyMessage] = [
        (AIMessage if n % 2 else HumanMessage)(text(dice, TURN_CHARS // 2), id=str(n)) for n in range(count)
    ]
    steps = {"official": Step(official, "official", messages), "ours": Step(saver, "ours", messages)}
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
    with harness.bar("save and load", ROUNDS + WARM) as tick:
        for n in range(ROUNDS + WARM):
            for name in sorted(steps, reverse=bool(n % 2)):
                said, started = text(dice, TURN_CHARS // 2), perf_counter()
                await steps[name].save(said)
                saved = perf_counter()
                await steps[name].load()
                took[name].append((saved - started, perf_counter() - saved))
            tick(1)
    figures = {
        name: {
            "save_ms": round(median(save for save, _ in times[WARM:]) * 1e3, 2),
            "load_ms": round(median(load for _, load in times[WARM:]) * 1e3, 2),
            "both_ms": round(median(save + load for save, load in times[WARM:]) * 1e3, 2),
        }
        for name, times in took.items()
    }
    ratio = {key: round(figures["ours"][key] / figures["official"][key], 2) for key in figures["ours"]}
    return {"messages": count, **figures, "ratio": ratio}


async def growth(own: settings.Settings, saver: PooledSaver, turns: int, dice: random.Random) -> dict[str, Any]:
    """A conversation with the supervisor, offline, by each setting of its messages, in turn: the last turns and a load
    of the thread, in ms, and its bytes before and after the janitor."""
    took: dict[str, list[float]] = {"whole": [], "delta": []}
    found: dict[str, Any] = {"turns": turns, "chars": turns * TURN_CHARS, "keep": own.checkpoints.keep}
    async with bootstrap.create_memory(own) as memory:
        graphs = {}
        for name in took:
            rules = own.checkpoints.model_copy(update={"messages": name})
            graphs[name] = build(memory, None, own.model_copy(update={"checkpoints": rules})).compile(
                checkpointer=saver
            )
        with harness.bar("turns", turns) as tick:
            for n in range(turns):
                words = text(dice, TURN_CHARS)
                for name in sorted(graphs, reverse=bool(n % 2)):
                    said, started = Input(messages=[HumanMessage(words)]), perf_counter()
                    await graphs[name].ainvoke(said, _thread(name), context=Who(user=name))
                    took[name].append(perf_counter() - started)
                tick(1)
        for name, graph in graphs.items():
            loads = []
            for _ in range(LAST):
                started = perf_counter()
                await graph.aget_state(_thread(name))
                loads.append(perf_counter() - started)
            before, started = await size(saver, name), perf_counter()
            freed = await prune_threads(saver, keep=own.checkpoints.keep, threads=[name])
            found[name] = {
                "turn_ms": round(median(took[name][-LAST:]) * 1e3, 1), "load_ms": round(median(loads) * 1e3, 1),
                "bytes_before": before, "bytes_after": await size(saver, name), "removed": freed.checkpoints,
                "seconds": round(perf_counter() - started, 3),
            }  # fmt: skip
    return found


def _thread(name: str) -> RunnableConfig:
    return RunnableConfig(configurable={"thread_id": name})


async def size(saver: PooledSaver, thread: str) -> int:
    """What a thread takes, in bytes."""
    return next(one.bytes for one in (await measure_threads(saver, 10_000)).largest if one.thread == thread)


async def crowd(saver: PooledSaver, official: AsyncPostgresSaver, threads: int, dice: random.Random) -> dict[str, Any]:
    """So many threads at once, each saving and loading, by one saver of each kind: operations a second."""
    said = [text(dice, 100) for _ in range(OPS)]
    rates: dict[str, list[float]] = {"official": [], "ours": []}
    for round_ in range(3):
        for name, one in (("official", official), ("ours", saver)):
            steps = [Step(one, f"crowd {name} {round_} {n}", []) for n in range(threads)]

            async def talk(step: Step) -> None:
                for words in said:
                    await step.save(words)
                    await step.load()

            started = perf_counter()
            await asyncio.gather(*(talk(step) for step in steps))
            rates[name].append(threads * OPS * 3 / (perf_counter() - started))
    figures = {name: round(median(all_)) for name, all_ in rates.items()}
    return {"threads": threads, **figures, "ratio": round(figures["ours"] / figures["official"], 2)}


def text(dice: random.Random, chars: int) -> str:
    """Words that hardly compress."""
    words = ("".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randint(2, 9))) for _ in range(chars // 3))
    return " ".join(words)[:chars]


@asynccontextmanager
async def both(own: settings.Settings) -> AsyncIterator[tuple[PooledSaver, AsyncPostgresSaver]]:
    """Ours, and the official one over the same pool."""
    async with open_saver(await bootstrap.ensure_database(own), bootstrap.make_redactor(own)) as saver:
        yield saver, AsyncPostgresSaver(saver.conn)


async def measure(messages: int, turns: int, threads: int) -> dict[str, Any]:
    """All of it in a database of its own."""
    dice = random.Random(SEED)
    async with harness.throwaway(settings.load_settings()) as own, both(own) as (saver, official):
        return {
            "long": await long(saver, official, messages, dice),
            "size": await growth(own, saver, turns, dice),
            "crowd": await crowd(saver, official, threads, dice),
            "limits": LIMITS,
            "machine": await harness.machine(await bootstrap.ensure_database(own)),
        }


def show(found: dict[str, Any]) -> Iterator[Table]:
    """Tables for people."""
    long_, size_, crowd_ = found["long"], found["size"], found["crowd"]
    yield harness.grid(
        f"A thread of {long_['messages']} messages, ms",
        ["", "save", "load", "both"],
        [[name, *long_[name].values()] for name in ("official", "ours", "ratio")],
    )
    yield harness.grid(
        f"{size_['turns']} turns of {TURN_CHARS} characters",
        ["messages", "a turn ms", "a load ms", "bytes", f"after, keep {size_['keep']}"],
        [
            [name, one["turn_ms"], one["load_ms"], f"{one['bytes_before']:,}", f"{one['bytes_after']:,}"]
            for name, one in ((name, size_[name]) for name in ("whole", "delta"))
        ],
    )
    yield harness.grid(
        f"{crowd_['threads']} threads at once",
        ["", "operations/s"],
        [[name, crowd_[name]] for name in ("official", "ours", "ratio")],
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.checkpoints", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--messages", type=int, default=300)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--threads", type=int, default=32)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args(argv)
    return harness.run(measure(given.messages, given.turns, given.threads), show, as_json=given.json)


if __name__ == "__main__":
    sys.exit(main())
