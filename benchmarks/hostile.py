"""What texts cost that are made to be slow to read: 1,450 shapes through all that reads a text from outside.

python -m benchmarks.hostile [--sizes 8000 100000] [--shapes N] [--live 40] [--seed 20261124] [--json]

First each function that reads a text reads every shape (or `--shapes` of them, drawn by the seed) at each size:
`worst_cpu_s` is the most processor time per 100,000 characters. Then the `--live` shapes that took longest in all go
through `learn`, `query` and a turn of the supervisor graph at the largest size: `call_cpu_s` is the most processor time
of a call, `loop_blocked_ms` the longest time for which a ticker of the event loop did not come to its turn, and
`bystander_p95_ratio` what a query of another user takes meanwhile beside what it takes when nothing else runs."""

from __future__ import annotations

import argparse
import asyncio
import gc
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from os import cpu_count
from statistics import quantiles
from time import perf_counter, process_time, thread_time
from typing import Any, TypeAlias

from langchain_core.messages import HumanMessage
from rich.table import Table

from benchmarks import harness
from benchmarks.shapes import list_shapes, make_text
from muniment.graph.checkpointer import open_saver
from muniment.graph.supervisor import build
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import MunimentError
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.models.reader_process import READER
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.extraction.requested import extract_requested
from muniment.memory.rules.language import tokens
from muniment.memory.rules.procedures.requests import parse_keep_request
from muniment.memory.rules.provenance import quoted
from muniment.memory.rules.redaction import secret_names
from muniment.memory.rules.redaction.redact import Redactor
from muniment.memory.rules.retrieval.question import find_periods, parse_question
from muniment.nodes.reply_stream import AnswerFilter
from muniment.nodes.state import Input, Who

AGENT = "supervisor"
NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
PER = 100_000  # characters, for which the costs are given
QUERY_CHARS = 4_000  # of a query that are read (limits.query_chars), and of a text to remember as statements
TICK_SECONDS = 0.002
CALLS_ALONE = 200  # of the bystander before anything hostile comes
TOOL_NAMES, PART_CHARS = frozenset({"memory_query"}), 16
REDACTOR = Redactor(settings.load_settings({"HOME": "/nonexistent"}).redact)
READING_SECONDS = settings.load_settings({"HOME": "/nonexistent"}).limits.reading_seconds

Shape: TypeAlias = tuple[str, str]
Cost: TypeAlias = tuple[float, str, Shape, int]


def say(text: str) -> Turn:
    """A text as a user's turn."""
    return Turn.make(session="A", key="1", role="user", text=text, at=NOON)


def read_statements(text: str) -> object:
    """Statements as a long turn is read: for `limits.reading_seconds`."""
    ends = thread_time() + READING_SECONDS
    return extract_statements(say(text), is_late=lambda: thread_time() > ends)


def stream_reply(text: str) -> str:
    """Show a reply of a model, which comes in parts."""
    shown = AnswerFilter(TOOL_NAMES, ())
    for at in range(0, len(text), PART_CHARS):
        shown.add_text(text[at : at + PART_CHARS])
    return shown.join_shown()


READERS: dict[str, Callable[[str], object]] = {
    "redaction": REDACTOR.sanitize_uncached,
    "redaction of JSON": lambda text: secret_names.redact_json_text(text, REDACTOR.redact_uncached),
    "names of what was redacted": secret_names.describe_redactions,
    "gate": lambda text: gate.find_skip_reason(text, "user"),
    "quotations": lambda text: quoted.strip_quoted(say(text)),
    "instructions": lambda text: quoted.find_quoted_instructions(say(text)),
    "statements": read_statements,
    "texts to remember": lambda text: extract_requested(say(text[:QUERY_CHARS])),
    "requests to keep": parse_keep_request,
    "questions": lambda text: parse_question(text[:QUERY_CHARS]),
    "periods": lambda text: find_periods(text[:QUERY_CHARS], NOON),
    "words": tokens.get_lexeme_set,
    "replies of a model": stream_reply,
}


def measure_shape(shape: Shape, sizes: Sequence[int]) -> list[Cost]:
    """The processor time of each function for a shape at each size, in seconds."""
    costs = []
    for size in sizes:
        text = make_text(*shape, size)
        for name, read in READERS.items():
            gc.collect(0)
            began = process_time()
            read(text)
            costs.append((process_time() - began, name, shape, size))
    return costs


def warm_up() -> None:
    """Load what the functions load with the first text."""
    for read in READERS.values():
        read("I live in Lisbon with my sister Anna; what is my password: abc1 on 3 May?\n我住在里斯本。" * 20)


def measure_readers(shapes: Sequence[Shape], sizes: Sequence[int]) -> list[Cost]:
    """The costs of every function, shape and size, in as many processes as there are processors."""
    costs: list[Cost] = []
    with (
        harness.bar("shapes", len(shapes)) as tick,
        ProcessPoolExecutor(cpu_count(), get_context("spawn"), warm_up) as pool,
    ):
        for some in pool.map(partial(measure_shape, sizes=tuple(sizes)), shapes, chunksize=4):
            costs += some
            tick(1)
    return costs


class Ticker:
    """The longest time for which the event loop did not come to its turn."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def run(self) -> None:
        """Tick until it is cancelled."""
        last = perf_counter()
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self.longest, last = max(self.longest, perf_counter() - last - TICK_SECONDS), perf_counter()


def read_cpu_seconds() -> float:
    """The processor time of this process and of the one that reads long texts for it."""
    return process_time() + READER.call_function(process_time)


async def query_as_bystander(memory: Memory, waits: list[float]) -> None:
    """One query of another user; `waits` gets the seconds that it took."""
    began = perf_counter()
    await memory.query(Scope(owner="ben"), AGENT, Query(text="Which lamp is lit?"))
    waits.append(perf_counter() - began)


async def measure_live(shapes: Sequence[Shape], size: int) -> dict[str, Any]:
    """What calls with hostile texts cost, and what they take from the event loop and from another user."""
    async with harness.throwaway(settings.load_settings()) as own:
        dsn = await bootstrap.ensure_database(own)
        async with bootstrap.create_memory(own, embedder=HashEmbedder()) as memory, open_saver(dsn) as saver:
            graph = build(memory, None, own).compile(checkpointer=saver)
            await memory.remember(Scope(owner="ben"), "The lamp in the hall is lit")

            call = partial(_call, memory, graph, own.checkpoints.durability)
            for n, name in enumerate(("learn", "query", "turn")):
                await call(name, "I live in Lisbon, and my sister Anna works at a bank.", -1 - n)
            alone: list[float] = []
            for _ in range(CALLS_ALONE):
                await query_as_bystander(memory, alone)
            costs: list[tuple[float, float, str, Shape, str]] = []
            beside: list[float] = []
            with harness.bar("calls", 3 * len(shapes)) as tick:
                for n, shape in enumerate(shapes):
                    text = make_text(*shape, size)
                    for name in ("learn", "query", "turn"):
                        ticker = Ticker()
                        ticking = asyncio.create_task(ticker.run())
                        began, error = read_cpu_seconds(), ""
                        try:
                            await call(name, text, 2 * n)
                        except MunimentError as raised:
                            error = type(raised).__name__
                        costs.append((read_cpu_seconds() - began, ticker.longest, name, shape, error))
                        ticking.cancel()
                        # Once more, as others, beside a bystander.
                        hostile = asyncio.create_task(_ignore_errors(call(name, text[:-1] + "0", 2 * n + 1)))
                        while not hostile.done():
                            await query_as_bystander(memory, beside)
                        await hostile
                        tick(1)
    cost, _, name, shape, _ = max(costs)
    blocked, where, what = max((blocked, name, shape) for _, blocked, name, shape, _ in costs)
    return {
        "live_chars": size,
        "call_cpu_s": round(cost, 3),
        "call_worst": [name, *shape],
        "calls_cpu_s": {
            each: round(max(cost for cost, _, name, _, _ in costs if name == each), 3)
            for each in ("learn", "query", "turn")
        },
        "loop_blocked_ms": round(blocked * 1000, 1),
        "loop_worst": [where, *what],
        "bystander_p95_ratio": round(quantiles(beside, n=20)[-1] / quantiles(alone, n=20)[-1], 2),
        "errors": sorted({error for *_, error in costs if error}),
    }


async def _call(memory: Memory, graph: Any, durability: str, name: str, text: str, n: int) -> None:
    """One call of the user `n`."""
    who = Scope(owner=f"ana {n}", thread=f"thread {n}")
    if name == "learn":
        await memory.learn(
            who, Turn.make(session="A", key="1", role="user", text=text, at=memory.now(), thread=who.thread)
        )
    elif name == "query":
        await memory.query(who, AGENT, Query(text=text))
    else:
        config: Any = {"configurable": {"thread_id": who.thread}}
        said = Input(messages=[HumanMessage(text)])
        await graph.ainvoke(said, config, context=Who(user=who.owner), durability=durability)


async def _ignore_errors(call: Any) -> None:
    try:
        await call
    except MunimentError:
        return


async def measure(sizes: Sequence[int], sample: int | None, live: int, seed: int) -> dict[str, Any]:
    """The report."""
    shapes = list_shapes()
    if sample is not None and sample < len(shapes):
        shapes = random.Random(seed).sample(shapes, sample)
    costs = await asyncio.to_thread(measure_readers, shapes, sizes)
    scaled = sorted(((cost * PER / size, name, shape, size) for cost, name, shape, size in costs), reverse=True)
    of_shape: dict[Shape, float] = {}
    for cost, _, shape, size in costs:
        if size == max(sizes):
            of_shape[shape] = of_shape.get(shape, 0.0) + cost
    slowest = sorted(of_shape, key=lambda shape: -of_shape[shape])[:live]
    found = {
        "shapes": len(shapes),
        "functions": len(READERS),
        "sizes": list(sizes),
        "worst_cpu_s": round(scaled[0][0], 3),
        "worst": [[round(cost, 3), name, *shape, size] for cost, name, shape, size in scaled[:5]],
        "by_function": {
            each: round(max(cost for cost, name, _, _ in scaled if name == each), 3) for each in READERS
        },
    }  # fmt: skip
    return found | (await measure_live(slowest, max(sizes)) if live else {})


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report as two tables."""
    yield harness.grid(
        f"{found['shapes']} shapes at {' and '.join(map(str, found['sizes']))} characters",
        ("function", "most CPU seconds per 100,000 characters"),
        list(found["by_function"].items()),
    )
    if "call_cpu_s" in found:
        asked = {"call_cpu_s": 0.5, "loop_blocked_ms": 50, "bystander_p95_ratio": 1.5}
        rows = [(name, found[name], limit) for name, limit in asked.items()]
        yield harness.grid(f"calls with {found['live_chars']} characters", ("", "found", "asked"), rows)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[8_000, 100_000], metavar="N", help="in characters")
    parser.add_argument("--shapes", type=int, metavar="N", help="only so many of them, drawn by the seed")
    parser.add_argument("--live", type=int, default=40, metavar="N", help="shapes that go through real calls")
    parser.add_argument("--seed", type=int, default=20261124, metavar="N", help="of the shapes that are drawn")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    if min(args.sizes) < 100 or args.live < 0 or (args.shapes is not None and args.shapes < 1):
        parser.error("--sizes: 100 or more wanted; --shapes: 1 or more; --live: 0 or more")
    return harness.run(measure(args.sizes, args.shapes, args.live, args.seed), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
