"""What the plugin adds to a turn, and whether a slow store delays a reply.

python -m benchmarks.plugin_turn [--items 10000] [--sessions 60] [--slow-turns 30] [--slow-seconds 5] [--json]

Each turn is run by four hosts one after the other: one without the plugin, one over a file by words alone, one over a
file with the embedder, and one over the service by real HTTP. What a plugin adds is its time less that of the host
without one. The answer takes no time; what is done behind a reply is waited for between two measurements, and what a
service and its database do behind an answer has a twentieth of a second.
Of the five turns of a session two are to search; at the three others the gate is to say no.

Then an answer takes 200 ms and each write of the store 5 s: the replies beside those over a store as it is, and those
without the plugin. At last the same with a bound: over it the oldest turn that waits is dropped, and reported.

The exit code is 1 where one of the limits does not hold."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks import harness
from benchmarks.counted_store import CountedStore
from benchmarks.plugin_hosts import (
    OWNER,
    CountedEmbedder,
    NotingBook,
    TimedTurn,
    Way,
    answer_at_once,
    answer_late,
    choose_plugin,
    make_context,
    open_slow,
)
from benchmarks.plugin_remote import PARTS, RULES, TOOLS, fill_space, make_item, serve_database, take_quantile
from muniment.chain import FaultReport, Host
from muniment.memory import bootstrap
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.ids import Vector
from muniment.memory.ports.embedders import Embedder
from muniment.plugin import open_plugin
from muniment.plugin.book.file_book import find_book_file
from muniment.plugin.domain.item import CompactPolicy, MemoryItem
from muniment.plugin.stores.local.store import open_local_store
from muniment.plugin.stores.remote.store import RemoteStore

LIMITS = {"words": 80.0, "vectors": 80.0, "remote": 300.0, "refused": 2.0, "slow": 1.05}  # ms, and a ratio
_PAUSE_SECONDS = 0.05
_WARMING = 2  # sessions that are not counted
_BATCH = 500
_NOISE = 0.5  # of the length of a vector: the cosine of two such is below that of duplicates
_BOUND = 3  # turns that may wait, in the run with a bound


async def measure(
    settings: Settings, *, items: int, sessions: int, slow_turns: int, slow_seconds: float
) -> dict[str, Any]:
    """Return all figures, and which limits hold."""
    figures: dict[str, Any] = {"items": items, "sessions": sessions, "limits": LIMITS, "embedder": settings.embedder}
    with tempfile.TemporaryDirectory() as folder:
        async with _open_ways(settings, Path(folder), items) as ways:
            await _run_sessions(ways, sessions)
        figures |= _describe_turns(ways)
        figures["slow"] = await _measure_slow(settings, Path(folder), slow_turns, slow_seconds)
        figures["bound"] = await _measure_bound(settings, Path(folder), slow_seconds)
    ways_with = [name for name in ways if name != "bare"]
    holds = {name: figures["searched"][name]["added_p95_ms"] < LIMITS[name] for name in ways_with}
    holds |= {
        f"{name}, refused": figures["refused"][name]["added_p95_ms"] < LIMITS["refused"]
        and figures["refused"][name]["calls"] == 0
        for name in ways_with
    }
    holds["slow"] = figures["slow"]["ratio_to_fast"] <= LIMITS["slow"]
    holds["slow beside none"] = figures["slow"]["ratio_to_none"] <= LIMITS["slow"]
    return figures | {"holds": holds}


@asynccontextmanager
async def _open_ways(settings: Settings, folder: Path, items: int) -> AsyncIterator[dict[str, Way]]:
    """Open a host for each way, over stores with so many items of one user."""
    embedder = bootstrap.make_embedder(settings)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(embedder.close)
        own = await stack.enter_async_context(harness.throwaway(settings))
        async with bootstrap.open_memory(own) as memory:
            await fill_space(memory, OWNER, Random(1), items)
        url = await stack.enter_async_context(serve_database(own))
        async with bootstrap.open_tokens(own, as_owner=True) as tokens:
            token, _ = await tokens.issue_token(tenant=OWNER.tenant, owner=OWNER.user)
        ways = {"bare": Way(host=await stack.enter_async_context(Host([])))}
        for name in ("words", "vectors", "remote"):
            counted = CountedEmbedder(embedder) if name == "vectors" else None
            kind = "remote" if name == "remote" else "local"
            chosen = choose_plugin(settings, folder / f"{name}.sqlite", store=kind, vectors=counted is not None)
            if name == "remote":
                store = CountedStore(RemoteStore(url, token, timeout_seconds=10))
            else:
                store = CountedStore(open_local_store(chosen, counted))
                await _fill_file(store, embedder, items, has_vectors=counted is not None)
                # A file that grew turn by turn was compacted each day: 10,000 items that were never compared are no
                # host's, and comparing them takes seconds behind the first turns.
                await store.compact(OWNER, _make_policy(chosen))
            book = NotingBook(find_book_file(folder / f"{name}.sqlite"))
            stack.push_async_callback(store.close)
            stack.push_async_callback(book.close)
            plugin = await stack.enter_async_context(open_plugin(chosen, store=store, book=book, embedder=counted))
            host = await stack.enter_async_context(Host([plugin]))
            ways[name] = Way(host=host, book=book, store=store, embedder=counted)
        yield ways


def _make_policy(settings: Settings) -> CompactPolicy:
    gates = settings.plugin.gates
    return CompactPolicy(
        at=datetime.now(UTC), merge_similarity=gates.duplicate_similarity, max_items=settings.plugin.max_items
    )


async def _fill_file(store: CountedStore, embedder: Embedder, items: int, *, has_vectors: bool) -> None:
    """Write items like those of the space. Those that differ in their number alone have nearly the same vector, which
    the embedder makes once."""
    random, now = Random(1), datetime.now(UTC)
    made = [make_item(OWNER, random, number, now) for number in range(items)]
    if has_vectors:
        texts = [text.format(part=part, tool=tool, n="") for _, text in RULES for part in PARTS for tool in TOOLS]
        vectors = dict(zip(texts, await embedder.embed_documents(texts), strict=True))
        noise = np.random.default_rng(1).standard_normal((items, len(vectors[texts[0]])), dtype=np.float32)
        made = [_set_vector(item, number, vectors, noise[number], embedder.name) for number, item in enumerate(made)]
    for first in range(0, items, _BATCH):
        stored = await store.upsert(made[first : first + _BATCH])
        if not all(each.outcome == "added" for each in stored):
            raise OSError("an item of the benchmark is not in the file")


def _set_vector(item: MemoryItem, number: int, vectors: Mapping[str, Vector], noise: Vector, model: str) -> MemoryItem:
    words = item.content.replace(f" {number} ", "  ").replace(f" {number}.", " .")
    vector = vectors[words] + _NOISE * noise / np.linalg.norm(noise)
    return replace(item, embedding=vector / np.linalg.norm(vector), embedding_model=model)


async def _run_sessions(ways: Mapping[str, Way], sessions: int) -> None:
    random, names = Random(2), list(ways)
    with harness.bar("sessions", sessions) as tick:
        for number in range(_WARMING + sessions):
            for turn, (kind, text) in enumerate(_list_turns(random)):
                first = (number + turn) % len(names)
                for name in names[first:] + names[:first]:
                    context = make_context(f"s{number}", f"t{turn}", text, is_machine=kind == "machine")
                    await asyncio.sleep(_PAUSE_SECONDS)  # the service of the way before goes on behind its answer
                    timed = await ways[name].time_turn(kind, context)
                    if number >= _WARMING:
                        ways[name].turns.append(timed)
            tick(int(number >= _WARMING))


def _list_turns(random: Random) -> list[tuple[str, str]]:
    """The turns of a session: what kind each is, and what is said in it."""
    (tool, other_tool), part = random.sample(TOOLS, 2), random.choice(PARTS)
    return [
        ("first", f"Does the {part} part use {tool} for every build?"),
        ("same topic", f"So the {part} part does use {tool} for every build?"),
        ("small talk", "Thanks, that helps a lot."),
        ("machine", f"The job of the {part} part has ended."),
        ("other topic", f"Who decided on {other_tool} back then, and why?"),
    ]


def _describe_turns(ways: Mapping[str, Way]) -> dict[str, Any]:
    """What each way adds to the turns that search, to those at which the gate says no, and by kind."""
    found: dict[str, Any] = {"searched": {}, "refused": {}, "kinds": {}}
    for name, way in ways.items():
        pairs = list(zip(way.turns, ways["bare"].turns, strict=True))
        if way.book is None:
            continue
        found["searched"][name] = _summarize([pair for pair in pairs if pair[0].is_searched])
        found["refused"][name] = _summarize([pair for pair in pairs if not pair[0].is_searched])
        kinds = dict.fromkeys(turn.kind for turn in way.turns)
        found["kinds"][name] = {kind: _summarize([pair for pair in pairs if pair[0].kind == kind]) for kind in kinds}
    return found


def _summarize(pairs: Sequence[tuple[TimedTurn, TimedTurn]]) -> dict[str, Any]:
    """What turns take longer than the same ones without the plugin."""
    added = [turn.milliseconds - bare.milliseconds for turn, bare in pairs]
    return {
        "turns": len(pairs),
        "added_median_ms": round(median(added), 2),
        "added_p95_ms": take_quantile(added, 95),
        "shown": sum(turn.is_shown for turn, _ in pairs),
        "calls": sum(turn.calls for turn, _ in pairs),
        "reasons": dict(Counter(turn.reason for turn, _ in pairs)),
    }


async def _measure_slow(settings: Settings, folder: Path, turns: int, seconds: float) -> dict[str, Any]:
    """Return how long replies take over a store whose writes take so long, beside those over the same as it is."""
    names, times = ["none", "fast", "slow"], dict[str, list[float]]()
    faults: list[FaultReport] = []
    async with AsyncExitStack() as stack:
        hosts = {"none": await stack.enter_async_context(Host([]))}
        for name, slowness in (("fast", 0.0), ("slow", seconds)):
            opened = open_slow(settings, folder / f"{name}-write.sqlite", slowness, faults.append)
            hosts[name] = await stack.enter_async_context(opened)
        for number in range(turns):
            text = f"We decided to use {TOOLS[number % len(TOOLS)]} for the {PARTS[number % len(PARTS)]} service."
            for name in names[number % 3 :] + names[: number % 3]:
                began = perf_counter()
                await hosts[name].run_turn(make_context("slow", f"t{number}", text), partial(answer_late, 0.2))
                times.setdefault(name, []).append(1_000 * (perf_counter() - began))
        waiting = await hosts["slow"].drain(0)
    by_name = {name: round(median(each), 2) for name, each in times.items()}
    return {
        "turns": turns,
        "write_seconds": seconds,
        "median_ms": by_name,
        "most_ms": {name: round(max(each), 2) for name, each in times.items()},
        "ratio_to_fast": round(by_name["slow"] / by_name["fast"], 3),
        "ratio_to_none": round(by_name["slow"] / by_name["none"], 3),
        "waiting_at_the_end": waiting,
        "dropped_at_the_end": sum(fault.kind == "dropped" for fault in faults),
    }


async def _measure_bound(settings: Settings, folder: Path, seconds: float) -> dict[str, Any]:
    """Return what becomes of three times as many turns as may wait, in one session."""
    faults: list[FaultReport] = []
    most, numbers = 0.0, count()
    opened = open_slow(settings, folder / "bound.sqlite", seconds, faults.append, max_pending=_BOUND)
    async with opened as host:
        for tool in TOOLS[: 3 * _BOUND]:
            began = perf_counter()
            context = make_context("bound", f"t{next(numbers)}", f"We decided to use {tool} for the {tool} service.")
            await host.run_turn(context, answer_at_once)
            most = max(most, 1_000 * (perf_counter() - began))
        waiting = await host.drain(0)
        dropped = len(faults)
        await host.drain(_BOUND * (seconds + 1))
    return {"bound": _BOUND, "turns": next(numbers), "waiting": waiting, "dropped": dropped, "most_ms": round(most, 2)}


def show(report: dict[str, Any]) -> Iterator[Table]:
    """Yield the tables of a report."""
    columns = ("turns", "added_median_ms", "added_p95_ms", "shown", "calls")
    rows = [
        (f"{name}, {part}", *found.values()) for part in ("searched", "refused") for name, found in report[part].items()
    ]
    title = f"{report['items']:,} items: what a turn takes longer with the plugin"
    yield harness.grid(title, ("", *columns), rows)
    slow = report["slow"]
    title = f"{slow['turns']} replies of 200 ms, {slow['write_seconds']:g} s a write"
    names = ("ratio_to_fast", "ratio_to_none", "waiting_at_the_end", "dropped_at_the_end")
    yield harness.grid(title, ("", ""), [(name, slow[name]) for name in names])
    yield harness.grid("With a bound of turns that may wait", ("", ""), list(report["bound"].items()))
    yield harness.grid("Holds", ("", ""), list(report["holds"].items()))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.plugin_turn", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--sessions", type=int, default=60, help="each with two turns that search, and three others")
    parser.add_argument("--slow-turns", type=int, default=30)
    parser.add_argument("--slow-seconds", type=float, default=5.0)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    holds: list[bool] = []

    async def report() -> dict[str, Any]:
        sizes = {"items": args.items, "sessions": args.sessions, "slow_turns": args.slow_turns}
        found = await measure(load_settings(), **sizes, slow_seconds=args.slow_seconds)
        holds.extend(found["holds"].values())
        return found

    return harness.run(report(), show, as_json=args.json) or int(not holds or not all(holds))


if __name__ == "__main__":
    sys.exit(main())
