"""Load, search and write: every contestant has its turn by blocks, each time in another order, in one run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

import psycopg

from benchmarks import harness, latency
from benchmarks.peers.facts import find_facts
from benchmarks.peers.ours import ByRules
from benchmarks.peers.peer import Found, Item, Peer
from benchmarks.peers.ring import FAILURES, OURS, Ring
from benchmarks.peers.traces import measure_bytes
from benchmarks.peers.vectors import Vectors
from benchmarks.peers.workload import Asked, Workload
from benchmarks.recall import DEPTHS
from muniment.memory import bootstrap
from muniment.memory.config import settings
from muniment.memory.errors import StoreError
from muniment.memory.rules.retrieval.render import count_tokens

BLOCK, WARMING = 10, 5  # calls of a turn; searches before anything is timed
Todo = TypeVar("Todo")


@dataclass(slots=True)
class Row:
    """What was measured of one contestant: seconds of each call, and what its searches found."""

    kept: int = 0
    written: int = 0  # of the single writes, those of which something is kept
    import_seconds: float = 0.0
    bytes: int = 0
    recall: list[tuple[float, ...]] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    tallies: dict[str, latency.Tally] = field(default_factory=dict)

    def note_search(self, asked: Asked, hits: Sequence[Found]) -> None:
        """Note the share of the evidence among the first hits, and the tokens of all of them."""
        keys = [one.key for one in hits]
        self.recall.append(tuple(len(asked.evidence & set(keys[:depth])) / len(asked.evidence) for depth in DEPTHS))
        self.tokens.append(count_tokens("\n".join(one.text for one in hits)))

    def note_time(self, name: str, seconds: float) -> None:
        """Note how long a call took."""
        self.tallies.setdefault(name, latency.Tally()).latencies.append(seconds)


async def run_rounds(ring: Ring, work: Workload, rows: dict[str, Row]) -> None:
    """Search and write with vectors that are known, then with the work of the embedder in each call."""
    half = len(work.writes) // 2
    writes = {False: work.writes[:half], True: work.writes[half:]}
    user = work.loads[-1][0]
    for working in (False, True):
        await ring.embed_each_time(working=working)
        suffix = ", embedding" if working else ""

        async def search(name: str, peer: Peer, asked: Asked, label: str = f"search{suffix}") -> None:
            found = await peer.search(asked.user, asked.text, DEPTHS[-1])
            rows[name].note_time(label, found.seconds)
            if label == "search":
                rows[name].note_search(asked, found.result)

        async def write(name: str, peer: Peer, item: Item, label: str = f"write{suffix}") -> None:
            added = await peer.add(user, item)
            rows[name].note_time(label, added.seconds)
            rows[name].written += bool(added.result)

        await analyze_all(ring)
        await _warm(ring, work.asked[:WARMING])
        await take_turns(ring, f"search{suffix}", work.asked, search)
        await take_turns(ring, f"write{suffix}", writes[working], write)
    await ring.embed_each_time(working=False)


async def take_turns(
    ring: Ring, what: str, todo: Sequence[Todo], call: Callable[[str, Peer, Todo], Awaitable[None]]
) -> None:
    """Let everyone do everything, block by block. Who fails is out of the ring."""
    with harness.bar(what, len(todo)) as tick:
        for turn, start in enumerate(range(0, len(todo), BLOCK)):
            names = list(ring.benches)
            some = todo[start : start + BLOCK]
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                try:
                    for one in some:
                        await call(name, ring.benches[name].peer, one)
                except FAILURES as error:
                    ring.fail(name, error)
            tick(len(some))


async def load_all(ring: Ring, work: Workload, rows: dict[str, Row]) -> None:
    """Import everything into each, and measure the time and the bytes."""
    for name, bench in list(ring.benches.items()):
        row = rows.setdefault(name, Row())
        before = await measure_bytes(bench.dsn, bench.folder)
        try:
            with harness.bar(f"{name}: importing", work.statements) as tick:
                for user, items in work.loads:
                    loaded = await bench.peer.load(user, items)
                    row.kept += loaded.result
                    row.import_seconds += loaded.seconds
                    tick(len(items))
            row.bytes = await measure_bytes(bench.dsn, bench.folder) - before
        except FAILURES as error:
            ring.fail(name, error)


async def analyze_all(ring: Ring) -> None:
    """Let the server know every contestant's tables, as it would by itself after a while."""
    for bench in ring.benches.values():
        if bench.dsn is not None:
            async with await psycopg.AsyncConnection.connect(bench.dsn, autocommit=True) as conn:
                await conn.execute("vacuum (analyze)")


async def rehearse_rules(base: settings.Settings, vectors: Vectors, work: Workload) -> None:
    """Let the rules read everything once in a database that is dropped: the vectors of what they keep are known."""
    async with harness.throwaway(base) as own, bootstrap.create_memory(own, embedder=vectors) as memory:
        for user, items in work.loads:
            await ByRules(memory).load(user, items)
        await ByRules(memory).load(work.loads[-1][0], work.writes)


async def measure(work: Workload, ring: Ring) -> dict[str, Any]:
    """Return the figures of an open ring, and the facts."""
    rows: dict[str, Row] = {}
    await ring.embed_each_time(working=False)
    await load_all(ring, work, rows)
    await run_rounds(ring, work, rows)
    if OURS not in ring.benches:
        raise StoreError(f"{OURS}, to which the others are compared: {ring.failed[OURS]}")
    facts: dict[str, dict[str, dict[str, str]]] = {}
    for name, bench in list(ring.benches.items()):
        facts[name] = {probe: asdict(fact) for probe, fact in (await find_facts(bench)).items()}
    ours = rows[OURS]
    return {
        "peers": {name: make_figures(rows[name], ours) for name in ring.benches},
        "facts": facts,
        "failed": ring.failed,
    }


def make_figures(row: Row, ours: Row) -> dict[str, Any]:
    """Return one contestant's figures: shares in [0, 1], milliseconds, bytes, and times of Muniment as given."""
    found: dict[str, Any] = {
        "kept": row.kept,
        "written": row.written,
        "import_seconds": round(row.import_seconds, 3),
        "import_ratio": round(row.import_seconds / ours.import_seconds, 2),
        "bytes": row.bytes,
        "bytes_a_statement": round(row.bytes / max(1, row.kept)),
        "tokens": round(sum(row.tokens) / len(row.tokens)),
    }
    for index, depth in enumerate(DEPTHS):
        found[f"recall@{depth}"] = round(sum(one[index] for one in row.recall) / len(row.recall), 4)
    for name, tally in row.tallies.items():
        (p50, p95), (our_p50, our_p95) = latency.percentiles(tally), latency.percentiles(ours.tallies[name])
        found[name] = {
            "p50_ms": round(p50 * 1000, 2),
            "p95_ms": round(p95 * 1000, 2),
            "ratio_p50": round(p50 / our_p50, 3),
            "ratio_p95": round(p95 / our_p95, 3),
        }
    return found


async def _warm(ring: Ring, asked: Sequence[Asked]) -> None:
    async def search(_: str, peer: Peer, one: Asked) -> None:
        await peer.search(one.user, one.text, DEPTHS[-1])

    await take_turns(ring, "warming", asked, search)
