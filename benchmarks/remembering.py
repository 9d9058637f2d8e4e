"""What `remember` costs beside a put of LangGraph's store: the same texts in turns, by one writer and by several.

The texts are the own statements in English of `data/statements.tsv`, each with the vector of the configured embedder,
which is made before: neither side waits for an embedder."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from time import perf_counter, process_time
from typing import Any

import psycopg
from rich.table import Table

from benchmarks import harness, latency, statements
from benchmarks.contestants import Store, open_store
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.domain.ids import Vector
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.errors import BadInput
from muniment.memory.ports.embedders import Embedder
from muniment.memory.rules.extraction.requested import read_requested

BLOCK = 40  # writes of one contestant before the other has its turn
SEED, WRITERS = 20240503, 8
SCOPE = Scope(owner="one")
OURS, STORE = "remember", "store"
_JOURNAL = """
select s.rev, (select count(*) from muniment.journal j where j.space_id = s.space_id),
  (select count(distinct j.rev) from muniment.journal j where j.space_id = s.space_id)
from muniment.spaces s where s.space_id = %s
"""
Write = Callable[[str], Awaitable[object]]


class Recorded:
    """An embedder that keeps every vector that it has made."""

    def __init__(self, behind: Embedder) -> None:
        self.name, self._behind = behind.name, behind
        self._vectors: dict[str, Vector] = {}

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors; those of new texts are made."""
        if new := [text for text in dict.fromkeys(texts) if text not in self._vectors]:
            self._vectors |= zip(new, await self._behind.embed_documents(new), strict=True)
        return [self._vectors[text] for text in texts]

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question, made each time."""
        return await self._behind.embed_query(text)

    async def lists(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors as LangGraph wants them."""
        return [vector.tolist() for vector in await self.embed_documents(texts)]

    async def close(self) -> None:
        """Close the embedder behind it."""
        await self._behind.close()


@dataclass(slots=True)
class Sides:
    """Both contestants, and what our receipts say."""

    memory: Memory
    store: Store
    admin: psycopg.AsyncConnection
    receipts: int = 0
    changes: int = 0
    puts: int = 0

    async def remember(self, text: str) -> None:
        """`Memory.remember`."""
        receipt = await self.memory.remember(SCOPE, text)
        self.receipts += 1
        self.changes += len(receipt.changes)

    async def put(self, text: str) -> None:
        """`AsyncPostgresStore.aput`."""
        self.puts += 1
        await self.store.store.aput(("memories", SCOPE.owner), str(self.puts), {"text": text})

    def list_writes(self) -> dict[str, Write]:
        """Return the write of each contestant by its name."""
        return {OURS: self.remember, STORE: self.put}


async def measure_remembering(base: settings.Settings, adds: int, memories: int) -> dict[str, Any]:
    """Fill a space and the store with `memories` texts, then write `adds` texts by one writer, and others by several.

    Returns the figures of both, the ratio of their rates, and how the revisions of the space are numbered."""
    measured = BLOCK + 2 * adds
    texts = list_texts()[: measured + memories]
    known = Recorded(bootstrap.make_embedder(base))
    with harness.bar("vectors", len(texts)) as tick:
        for start in range(0, len(texts), BLOCK):
            await known.embed_documents(list_documents(texts[start : start + BLOCK]))
            tick(BLOCK)
    dims = len((await known.embed_documents(texts[:1]))[0])
    async with harness.throwaway(base) as own:
        dsn = await bootstrap.ensure_database(own)
        async with (
            await psycopg.AsyncConnection.connect(dsn, autocommit=True) as admin,
            bootstrap.create_memory(own, embedder=known) as memory,
            open_store(dsn, known.lists, dims) as store,
        ):
            sides = Sides(memory, store, admin)
            for write in sides.list_writes().values():
                await write_together(write, texts[measured:], WRITERS)
            await admin.execute("vacuum (analyze)")
            await race(sides, texts[:BLOCK], WRITERS)  # warms both
            sides.receipts = sides.changes = 0
            alone = await race(sides, texts[BLOCK : BLOCK + adds], 1)
            together = await race(sides, texts[BLOCK + adds : measured], WRITERS)
            row = await (await admin.execute(_JOURNAL, (SCOPE.space,))).fetchone()
    assert row is not None
    rev, lines, revisions = row
    return {
        "remembering": {"1": alone, str(WRITERS): together},
        "remember_ratio_store": round(together[OURS]["writes_per_second"] / together[STORE]["writes_per_second"], 2),
        "remember_cpu_ms": alone[OURS]["cpu_ms"],
        "remember_changes": round(sides.changes / sides.receipts, 2),
        "missing_revisions": rev - revisions,
        "double_revisions": lines - revisions,
    }


def list_texts() -> list[str]:
    """Return the texts, each once, in a fixed order that mixes them."""
    own = [one.text for one in statements.read(statements.TRAINING) if (one.label, one.lang) == (statements.OWN, "en")]
    texts = list(dict.fromkeys(own))
    Random(SEED).shuffle(texts)
    return texts


def list_documents(texts: Iterable[str]) -> list[str]:
    """Return what is embedded of these texts: they themselves, and the statements that are kept of them."""
    at = datetime.now(UTC)
    turns = [Turn.make(session="", key="", role="user", text=text, at=at) for text in texts]
    return [text for turn in turns for text in (turn.text, *(each.text for each in read_candidates(turn)))]


def read_candidates(turn: Turn) -> tuple[Candidate, ...]:
    """Return the candidates of a text to remember; none where it is refused."""
    try:
        return read_requested(turn)
    except BadInput:
        return ()


async def write_together(write: Write, texts: Iterable[str], writers: int) -> list[float]:
    """Write every text, so many at once. Returns the seconds that each write has taken."""
    waiting, latencies = iter(texts), []

    async def run_writer() -> None:
        for text in waiting:
            started = perf_counter()
            await write(text)
            latencies.append(perf_counter() - started)

    await asyncio.gather(*(run_writer() for _ in range(writers)))
    return latencies


async def race(sides: Sides, texts: Sequence[str], writers: int) -> dict[str, dict[str, Any]]:
    """Both write all texts, in blocks; who begins alternates."""
    writes = sides.list_writes()
    tallies = {name: latency.Tally() for name in writes}
    for turn, start in enumerate(range(0, len(texts), BLOCK)):
        for name in reversed(writes) if turn % 2 else writes:
            block = await measure_block(sides.admin, writes[name], texts[start : start + BLOCK], writers)
            latency.add(tallies[name], block)
    return {name: make_figures(tally) for name, tally in tallies.items()}


async def measure_block(
    admin: psycopg.AsyncConnection, write: Write, texts: Sequence[str], writers: int
) -> latency.Tally:
    """Return what the writes of these texts have taken, here and in the server."""
    tally = latency.Tally()
    before, cpu, wall = await latency.backend_cpu(admin), process_time(), perf_counter()
    tally.latencies = await write_together(write, texts, writers)
    tally.wall, tally.client_cpu = perf_counter() - wall, process_time() - cpu
    after = await latency.backend_cpu(admin)
    tally.backend_cpu = (
        None if before is None or after is None else sum(spent - before.get(pid, 0.0) for pid, spent in after.items())
    )
    return tally


def make_figures(tally: latency.Tally) -> dict[str, Any]:
    """Return milliseconds a write, writes a second, and the CPU of a write: here, in the server, and both."""
    (p50, p95), count = latency.percentiles(tally), len(tally.latencies)
    client = tally.client_cpu / count * 1000
    server = None if tally.backend_cpu is None else tally.backend_cpu / count * 1000
    return {
        "p50_ms": round(p50 * 1000, 3),
        "p95_ms": round(p95 * 1000, 3),
        "writes_per_second": round(count / tally.wall, 1),
        "client_cpu_ms": round(client, 3),
        "backend_cpu_ms": None if server is None else round(server, 3),
        "cpu_ms": None if server is None else round(client + server, 3),
    }


def make_table(found: dict[str, Any]) -> Table:
    """Return the report for people."""
    rows = [
        [name, writers, *row.values()] for writers, sides in found["remembering"].items() for name, row in sides.items()
    ]
    header = ["", "writers of one user", "p50 ms", "p95 ms", "writes/s", "client CPU ms", "backend CPU ms", "CPU ms"]
    title = f"remember beside a put: {found['remember_ratio_store']} times its rate, {found['missing_revisions']} gaps"
    return harness.grid(title, header, rows)
