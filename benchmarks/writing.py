"""What an add costs beside a raw insert, an edge beside none, how adds grow with writers; `remember` beside a put.

python -m benchmarks.writing [--adds 200] [--memories 1000] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from time import perf_counter, process_time
from typing import Any
from uuid import uuid4

import numpy as np
import psycopg
from pgvector import HalfVector
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool
from rich.table import Table

from benchmarks import harness, latency, remembering, synthetic
from benchmarks.contestants import Replay, open_floor
from benchmarks.pieces import Piece, alone, linked
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.plan import Change, Relation, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn, make_memory
from muniment.memory.errors import StoreError

BLOCK, EDGES = 20, 20  # writes of one contestant before the next has its turn; edges of the plan that measures them
SEED, WRITERS, _UNCAPPED = 20240502, (1, 2, 4, 8), 10**9
FLOOR = "raw insert"
NAMES = {name: Scope(owner=name) for name in ("alone", "turned", "embedded", "linked", "ready", "edged")}

_BESIDE = """
create table public.raw (like muniment.memories including all);
alter table public.raw add foreign key (space_id) references muniment.spaces (space_id);
create table public.raw_journal (like muniment.journal including all);
alter table public.raw_journal add foreign key (space_id) references muniment.spaces (space_id);
insert into public.raw select * from muniment.memories where space_id = {space};
"""
_ROW = """
insert into public.raw (space_id, memory_id, kind, category, text, fact, stable_key, importance, confidence, trust,
  pinned, state, tags, agent_id, run_id, actor_id, role, session_id, thread_id, event_time, created_at, updated_at,
  last_accessed_at, access_count, purge_at, rev, superseded_by, context, turns, embedding, embedding_model, words)
values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s,
  %s, %s, %s, %s)
"""
_LINE = """
insert into public.raw_journal (
  space_id, rev, memory_id, action, old_ref, new_ref, thread_id, node, actor, band, sim, meta, ts)
values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
_BUMP = "update muniment.spaces set rev = rev + 1 where space_id = %s"
_EDGES = """
select count(*), count(*) - count(distinct (least(from_id, to_id), greatest(from_id, to_id)))
from muniment.relations where space_id = %s
"""


Write = Callable[[Piece], Awaitable[object]]
Pool = AsyncConnectionPool[psycopg.AsyncConnection]


class Doors:
    """The ways in for one statement."""

    def __init__(self, memory: Memory, embedding: Memory, raw: Pool, known: list[MemoryId]) -> None:
        self.memory, self.embedding, self.raw, self.known = memory, embedding, raw, known
        self.revisions: dict[Scope, Revision] = {}
        self._line = 0

    async def insert(self, piece: Piece) -> None:
        """One prepared insert of a whole row, a transaction of its own."""
        async with self.raw.connection() as conn:
            await conn.execute(_ROW, self._row(piece), prepare=True)

    async def insert_embedding(self, piece: Piece) -> None:
        """The same, with the work of the configured embedder."""
        await self.embedding.engine.embedder.embed_documents([piece.text])
        await self.insert(piece)

    async def insert_journalled(self, piece: Piece) -> None:
        """What an add leaves behind, by hand and sent at once: the row, its line of the journal, the space's
        revision."""
        row = self._row(piece)
        space, id_, at = row[0], row[1], row[20]
        self._line += 1
        line = (space, self._line, id_, "ADD", None, f"{id_}@1", None, "face", None, "new", 0.5, Jsonb({}), at)
        async with self.raw.connection() as conn, conn.pipeline(), conn.transaction():
            await conn.execute(_BUMP, (space,), prepare=True)
            await conn.execute(_ROW, row, prepare=True)
            await conn.execute(_LINE, line, prepare=True)

    async def commit(self, piece: Piece) -> None:
        """A plan that is ready: nothing is looked up."""
        await self._commit(NAMES["ready"], piece, ())

    async def commit_edged(self, piece: Piece) -> None:
        """The same with edges to memories that are there."""
        await self._commit(NAMES["edged"], piece, self.known)

    async def add(self, piece: Piece) -> None:
        """`Memory.keep`."""
        await kept(self.memory, NAMES["alone"], piece)

    async def add_turn(self, piece: Piece) -> None:
        """`Memory.keep` with the turn that it consumes."""
        turn = Turn.make(session="s", key=str(uuid4()), role="user", text=piece.text, at=self.memory.now())
        await kept(self.memory, NAMES["turned"], piece, turn)

    async def add_linked(self, piece: Piece) -> None:
        """`Memory.keep` of what is like memories of the space: it gets edges to them."""
        await kept(self.memory, NAMES["linked"], piece)

    async def add_embedding(self, piece: Piece) -> None:
        """`Memory.keep`, with the work of the configured embedder."""
        await kept(self.embedding, NAMES["embedded"], piece)

    async def _commit(self, scope: Scope, piece: Piece, known: Sequence[MemoryId]) -> None:
        at, id_ = self.memory.now(), MemoryId(uuid4())
        change = Change(
            action="ADD", after=make_memory(piece.candidate(), id_, scope, at), vector=piece.vector, band="new"
        )
        edges = tuple(Relation(a=id_, b=other, strength=0.7) for other in known)
        rev, store = self.revisions[scope], self.memory.engine.store
        plan = WritePlan(scope=scope, expected_rev=rev, node="face", at=at, changes=(change,), relations=edges)
        self.revisions[scope] = (await store.writes.commit(plan)).rev

    def _row(self, piece: Piece) -> tuple[Any, ...]:
        at = self.memory.now()
        return (
            NAMES["alone"].space, uuid4(), "semantic", piece.category, piece.text, None, None, 2, 1.0, "user", False,
            "active", [], None, None, None, None, None, None, None, at, at, None, 0, None, 1, None, None, [uuid4()],
            HalfVector(piece.vector), settings.DEFAULT_EMBEDDER, piece.words,
        )  # fmt: skip


async def kept(memory: Memory, scope: Scope, piece: Piece, turn: Turn | None = None) -> None:
    """`Memory.keep` of one statement; one that is not written would be measured as a fast one."""
    receipt = await memory.keep_candidates(scope, [piece.candidate(turn.id if turn else None)], [turn] if turn else [])
    if len(receipt.changes) != 1:
        raise StoreError(f"a write of the benchmark was not made: {', '.join(receipt.refused) or 'nothing new'}")


async def measure(adds: int, memories: int) -> dict[str, Any]:
    """Load, write through every door in turns, write concurrently, and look at the edges."""
    base = settings.load_settings()
    base = base.model_copy(update={"write": base.write.model_copy(update={"per_day": _UNCAPPED})})
    async with harness.throwaway(base) as own:
        dsn = await bootstrap.ensure_database(own)
        machine = await harness.machine(dsn)
        world, known = synthetic.World(SEED), Replay(settings.DEFAULT_EMBEDDER)
        async with (
            await psycopg.AsyncConnection.connect(dsn, autocommit=True) as admin,
            doors(own, dsn, admin, world, known, memories) as here,
        ):
            contestants: dict[str, tuple[Write, Sequence[Piece]]] = {
                FLOOR: (here.insert, alone(world, known, adds, 1)),
                "raw insert, journal, revision": (here.insert_journalled, alone(world, known, adds, 2)),
                "commit": (here.commit, alone(world, known, adds, 3)),
                f"commit, {EDGES} edges": (here.commit_edged, alone(world, known, adds, 4)),
                "add": (here.add, alone(world, known, adds, 5)),
                "add, a turn": (here.add_turn, alone(world, known, adds, 6)),
                "add, edges": (here.add_linked, linked(world, known, adds, memories)),
                "raw insert, embedding": (here.insert_embedding, alone(world, known, adds, 8)),
                "add, embedding": (here.add_embedding, alone(world, known, adds, 7)),
            }
            tallies = await race(contestants, adds, admin)
            grown = await grow(here, world, known, adds)
            edges = await count(admin, NAMES["linked"])
            crowd = await crowded(here, own, world, known, admin, adds)
    beside = await remembering.measure_remembering(base, adds, memories)
    found = figures(tallies)
    p50 = {name: float(np.median(tally.latencies)) for name, tally in tallies.items()}
    return {
        "adds": adds,
        "memories": memories,
        "seed": SEED,
        "add_ratio_p50": found["add"]["ratio_p50"],
        "add_ratio_embedding_p50": round(p50["add, embedding"] / p50["raw insert, embedding"], 2),
        "commit_ratio_p50": found["commit"]["ratio_p50"],
        "edge_ms_p50": round((p50[f"commit, {EDGES} edges"] - p50["commit"]) / EDGES * 1000, 4),
        "edges_an_add": round(edges[0] / adds, 2),
        **crowd,
        **beside,
        "throughput": grown,
        "writes": found,
        "machine": machine,
    }


@asynccontextmanager
async def doors(
    own: settings.Settings,
    dsn: str,
    admin: psycopg.AsyncConnection,
    world: synthetic.World,
    known: Replay,
    memories: int,
) -> AsyncIterator[Doors]:
    """Everything open: a space with the same memories for each, and a bare copy of one."""
    behind = Replay(settings.DEFAULT_EMBEDDER, bootstrap.make_embedder(own))
    behind.known = known.known
    async with (
        bootstrap.create_memory(own, embedder=known) as memory,
        bootstrap.create_memory(own, embedder=behind) as embedding,
        open_floor(dsn) as floor,
    ):
        made = world.memories(0, memories)
        known.known |= {one.text: one.vector for one in made}
        for scope in NAMES.values():
            kept = [Candidate(text=one.text, category=one.category, kind="semantic", confidence=1.0) for one in made]
            await memory.ingest(scope, kept)
        await admin.execute(_BESIDE.format(space=f"'{NAMES['alone'].space}'"))
        await admin.execute("vacuum (analyze)")
        linked_to = [one.id for one in await memory.list(NAMES["edged"], limit=EDGES)]
        here = Doors(memory, embedding, floor.pool, linked_to)
        here.revisions = {scope: Revision(memories) for scope in NAMES.values()}
        yield here


async def race(
    contestants: dict[str, tuple[Write, Sequence[Piece]]], adds: int, admin: psycopg.AsyncConnection
) -> dict[str, latency.Tally]:
    """Every contestant writes its pieces; they take turns by blocks, each time in another order. The first is
    warming."""
    names = list(contestants)
    tallies = {name: latency.Tally() for name in names}
    with harness.bar("one writer", adds * len(names)) as tick:
        for turn, start in enumerate(range(0, adds, BLOCK)):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                write, pieces = contestants[name]
                some = pieces[start : start + BLOCK]
                one = await block(write, some, admin)
                if turn or adds <= BLOCK:
                    latency.add(tallies[name], one)
                tick(len(some))
    return tallies


async def block(write: Write, pieces: Sequence[Piece], admin: psycopg.AsyncConnection) -> latency.Tally:
    """One contestant's turn, one write after the other."""
    tally = latency.Tally()
    before, cpu, wall = await latency.backend_cpu(admin), process_time(), perf_counter()
    for one in pieces:
        started = perf_counter()
        await write(one)
        tally.latencies.append(perf_counter() - started)
    tally.wall, tally.client_cpu = perf_counter() - wall, process_time() - cpu
    after = await latency.backend_cpu(admin)
    tally.backend_cpu = (
        sum(spent - before.get(pid, 0.0) for pid, spent in after.items())
        if before is not None and after is not None
        else None
    )
    return tally


def figures(tallies: dict[str, latency.Tally]) -> dict[str, dict[str, float | None]]:
    """Milliseconds a write, and how many times the raw insert."""
    floor = latency.percentiles(tallies[FLOOR])
    found = {}
    for name, tally in tallies.items():
        (p50, p95), writes = latency.percentiles(tally), len(tally.latencies)
        found[name] = {
            "p50_ms": round(p50 * 1000, 3),
            "p95_ms": round(p95 * 1000, 3),
            "ratio_p50": round(p50 / floor[0], 2),
            "ratio_p95": round(p95 / floor[1], 2),
            "client_cpu_ms": round(tally.client_cpu / writes * 1000, 3),
            "backend_cpu_ms": None if tally.backend_cpu is None else round(tally.backend_cpu / writes * 1000, 3),
        }
    return found


async def grow(here: Doors, world: synthetic.World, known: Replay, adds: int) -> dict[str, float]:
    """Adds a second with so many writers, each in a space of its own, and with as many in one space."""
    found = {}
    for part, (name, writers, shared) in enumerate(
        [*((str(n), n, False) for n in WRITERS), (f"{WRITERS[-1]} in one space", WRITERS[-1], True)], 100
    ):
        waiting = iter(alone(world, known, adds, part))

        async def writer(scope: Scope, waiting: Iterator[Piece] = waiting) -> None:
            for one in waiting:
                await kept(here.memory, scope, one)

        scopes = [Scope(owner=f"writer-{part}-{0 if shared else n}") for n in range(writers)]
        for scope in scopes:
            await kept(here.memory, scope, next(waiting))  # founds the space and opens the connections
        left, started = adds - len(scopes), perf_counter()
        await asyncio.gather(*(writer(scope) for scope in scopes))
        found[name] = round(left / (perf_counter() - started), 1)
    return found


async def crowded(
    here: Doors,
    own: settings.Settings,
    world: synthetic.World,
    known: Replay,
    admin: psycopg.AsyncConnection,
    adds: int,
) -> dict[str, int]:
    """Writers of two engines, which know nothing of each other, link what they write in one space."""
    scope = Scope(owner="crowd")
    waiting = iter(linked(world, known, min(adds, 100), 0))
    async with bootstrap.create_memory(own, embedder=known) as other:

        async def writer(memory: Memory) -> None:
            for one in waiting:
                await kept(memory, scope, one)

        await asyncio.gather(*(writer(memory) for memory in (here.memory, other) for _ in range(WRITERS[-1] // 2)))
    edges, twice = await count(admin, scope)
    return {"edges_of_concurrent_writers": edges, "duplicate_edges": twice}


async def count(admin: psycopg.AsyncConnection, scope: Scope) -> tuple[int, int]:
    """The edges of a space, and how many of them there are twice, in either direction."""
    row = await (await admin.execute(_EDGES, (scope.space,))).fetchone()
    assert row is not None
    return row[0], row[1]


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    yield harness.grid(
        f"One writer, a space of {found['memories']} memories",
        ["", "p50 ms", "p95 ms", "x raw p50", "x raw p95", "client CPU ms", "backend CPU ms"],
        [[name, *row.values()] for name, row in found["writes"].items()],
    )
    yield remembering.make_table(found)
    rates = [[name, rate] for name, rate in found["throughput"].items()]
    yield harness.grid("Writers, each in its own space", ["", "adds a second"], rates)
    yield harness.grid(
        "Edges",
        ["", ""],
        [
            ["an edge, ms", found["edge_ms_p50"]],
            ["edges of an add among its like", found["edges_an_add"]],
            ["edges of concurrent writers", found["edges_of_concurrent_writers"]],
            ["of these twice", found["duplicate_edges"]],
        ],
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.writing", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--adds", type=int, default=200, metavar="N", help="of each contestant")
    parser.add_argument("--memories", type=int, default=1000, metavar="N", help="that the space has before, 20 or more")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    if args.adds < 2 * WRITERS[-1] or args.memories < EDGES:
        parser.error(f"--adds: {2 * WRITERS[-1]} or more wanted, --memories: {EDGES} or more")
    return harness.run(measure(args.adds, args.memories), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
