"""Importing in bulk: the same rows as one by one, once each, in whole batches, while the next ones are embedded."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.ids import MemoryId, Revision, TurnId, Vector
from muniment.memory.domain.memory import Fact
from muniment.memory.domain.plan import Change, WritePlan
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn, make_memory
from muniment.memory.errors import BadInput, ModelUnavailable, MunimentError
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.stores.postgres.store import PostgresStore
from tests.engine import NOON, engine, note, said, scope, statement
from tests.integration.test_large import plans

_RECORD = """
insert into muniment.turns (space_id, turn_id, role, text, at, tags, recalled) values (%s, %s, 'user', 'Hi', now(),
  '{}', '{}')
"""
_BYTES = """
select memory_id, embedding::text, embedding_model, words::text, access_count, last_accessed_at
from muniment.memories where space_id = %s order by rev
"""


def varied() -> list[Candidate]:
    """Every column with something in it, and with nothing."""
    fact = Fact(
        kind="goal", predicate="wants", object="a 'kayak'", persons=("Zoë",), entities=(), topic="水", single=True
    )
    east = timezone(timedelta(hours=9, minutes=30))
    return [
        statement("The user wants tea"),
        Candidate(text="The user wants a kayak", category="goals", fact=fact, importance=5, confidence=0.1, pinned=True,
                  tags=("a,b", '"', "", "水"), context="he said\n{so}", actor="Bo", role=None, trust="document",
                  event_time=datetime(2, 1, 3, tzinfo=UTC), turns=(TurnId(uuid4()), TurnId(uuid4())), state="pending"),
        note("用户下周去北京旅行", event_time=datetime(2026, 5, 4, 1, 2, 3, 456789, tzinfo=east)),
        Candidate(text="of the and", category="event", kind="insight"),
        Candidate(text="\\N {null} \\x00", category="activity", kind="episodic",
            event_time=datetime(9998, 12, 31, tzinfo=UTC)),
    ]  # fmt: skip


def planned(
    where: Scope, candidates: Sequence[Candidate], ids: Sequence[MemoryId], vectors: Sequence[Vector]
) -> WritePlan:
    changes = tuple(
        Change(action="ADD", vector=vector, band="new", after=make_memory(one, id_, where, NOON))
        for one, id_, vector in zip(candidates, ids, vectors, strict=True)
    )
    turns = tuple(
        Turn(
            id=id_,
            role=one.role or "user",
            text=one.text,
            at=NOON,
            session="s",
            thread=where.thread,
            actor=one.actor,
            path="a/b",
            tags=("t",),
            recalled=(7, -(2**62)),
        )
        for one in candidates
        for id_ in one.turns
    )
    return WritePlan(scope=where, expected_rev=Revision(0), node="face", at=NOON, changes=changes, turns=turns)


def drop_moment(row: dict[str, Any]) -> dict[str, Any]:
    """A row without the moment at which the database got it."""
    return {key: value for key, value in row.items() if key != "said_at"}


async def test_what_is_brought_is_what_is_committed(database_url: str) -> None:
    """Packed or as JSON, the same plan leaves the same rows, to the byte."""
    async with engine(database_url) as memory:
        store, candidates = memory.engine.store, varied()
        ids = [MemoryId(uuid4()) for _ in candidates]
        vectors = await memory.engine.embedder.embed_documents([one.text for one in candidates])
        one, two = (scope(name, agent="planner", run="r1", actor="Cy") for name in ("one", "two"))
        await store.writes.commit(planned(one, candidates, ids, vectors))
        plan = planned(two, candidates, ids, vectors)
        assert await store.writes.insert_packed(plan, await store.writes.pack_rows(plan)) == len(candidates)
        assert [drop_moment(row) for row in await memory.export(one)] == [
            drop_moment(row) for row in await memory.export(two)
        ]
        with psycopg.connect(database_url) as admin:
            found = [admin.execute(_BYTES, (where.space,)).fetchall() for where in (one, two)]
        assert len(found[0]) == len(candidates)
        assert found[0] == found[1]


async def test_an_import_restores_to_the_same_bytes(database_url: str) -> None:
    """An export of what was brought, read in again, is the same export, vectors and words too."""
    async with engine(database_url) as memory:
        await memory.ingest(scope(), [*varied(), *(note(f"line {n}") for n in range(600))])
        rows = list(await memory.export(scope()))
        report = await memory.load(scope("copy"), [row | {"space_id": str(uuid4()), "words": "{}/1"} for row in rows])
        assert report.added == 605
        assert list(await memory.export(scope("copy"))) == rows
        with psycopg.connect(database_url) as admin:
            found = [admin.execute(_BYTES, (scope(name).space,)).fetchall() for name in ("ana", "copy")]
        assert found[0] == found[1]


async def test_what_no_export_says_changes_nothing(database_url: str) -> None:
    """Rows are packed, or read as JSON where one of them has a field of its own; what is restored is the same, to the
    byte."""
    async with engine(database_url) as memory:
        await memory.learn(scope(), said("Hi, call me Ana. I am lactose intolerant."))
        await memory.ingest(scope(), varied())
        one, two, *_ = await memory.list(scope())
        await memory.pin(scope(), one.id)
        rows = list(await memory.export(scope()))
        low, high = sorted(str(known.id) for known in (one, two))
        edge = {"type": "relation", "from_id": low, "to_id": high, "relation_type": "related_to", "strength": 0.7}
        place = next(n for n, row in enumerate(rows) if row["type"] == "turn")
        rows.insert(place, edge | {"created_at": rows[0]["created_at"]})
        older = [{key: value for key, value in row.items() if key not in ("source", "recalled")} for row in rows]
        for owner, its in (
            ("packed", rows),
            ("json", [row | {"remark": n} if n % 2 else row for n, row in enumerate(rows)]),
        ):
            await memory.load(scope(owner), its)
            assert list(await memory.export(scope(owner))) == rows
        await memory.load(scope("older"), older)
        turns = [row for row in await memory.export(scope("older")) if row["type"] == "turn"]
        assert {(row["source"], *row["recalled"]) for row in turns} == {("user",)}
        with psycopg.connect(database_url) as admin:
            found = [admin.execute(_BYTES, (scope(name).space,)).fetchall() for name in ("ana", "packed", "json")]
        assert len(found[0]) > 5
        assert found[0] == found[1] == found[2]


async def test_a_local_socket_takes_what_comes_next(database_url: str) -> None:
    """More than the system lets it take by itself: a statement is sent while the server is at the one before."""
    async with engine(database_url) as memory, await psycopg.AsyncConnection.connect(database_url) as plain:
        await memory.list(scope())
        async with memory.engine.store._connections.connect() as conn:  # type: ignore[attr-defined]
            if not conn.info.host.startswith("/"):
                pytest.skip("the database is not on this machine")
            sizes = []
            for one in plain, conn:
                with socket.socket(fileno=os.dup(one.fileno())) as its:
                    sizes.append(its.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF))
    assert sizes[1] > sizes[0]


async def test_a_search_is_planned_for_what_was_imported(database_url: str) -> None:
    """Before autovacuum comes, too: what was found is looked up by its id, not among all of its category."""
    with psycopg.connect(database_url, autocommit=True) as admin:
        admin.execute("alter table muniment.memories set (autovacuum_enabled = false)")
    async with engine(database_url) as memory:
        await memory.ingest(scope(), [note(f"line {n}") for n in range(600)])
        assert (await memory.query(scope(), "supervisor", Query(text="line 7"))).hits
        store = memory.engine.store
        assert isinstance(store, PostgresStore)
        nodes = await plans(store, None)
    lookups = [str(one["Index Cond"]) for one in nodes if one.get("Index Name") == "memories_pk"]
    assert [one for one in lookups if "memory_id" in one]


async def test_statements_of_one_turn_are_taken_together(database_url: str) -> None:
    """Wherever a batch ends, a turn with several statements is not cut; a second import adds nothing."""
    turn = TurnId(uuid4())
    many = [note(f"line {n}") for n in range(126)]
    same = [replace(note(f"part {n}"), turns=(turn,)) for n in range(5)]
    async with engine(database_url) as memory:
        assert await memory.ingest(scope(), [*many, *same, note("the end")]) == 132
        assert await memory.ingest(scope(), [*many, *same]) == 0
        more = replace(note("half new"), turns=(turn, TurnId(uuid4())))
        assert await memory.ingest(scope(), [*same, more, *many[:3]]) == 1
        await whole(memory, 133)
        turns = [row["consumed_rev"] for row in await memory.export(scope()) if row["type"] == "turn"]
        assert max(turns) == 133


class Counting(HashEmbedder):
    """Stops at a text until it is told to go on."""

    def __init__(self, at: str) -> None:
        super().__init__()
        self.at, self.reached, self.go_on = at, asyncio.Event(), asyncio.Event()

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        if self.at in texts:
            self.reached.set()
            await self.go_on.wait()
        return await super().embed_documents(texts)


class Failing(HashEmbedder):
    """Cannot embed one text."""

    def __init__(self, at: str) -> None:
        super().__init__()
        self.at = at

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        if self.at in texts:
            raise ModelUnavailable
        return await super().embed_documents(texts)


async def test_one_batch_is_written_while_the_next_is_embedded(database_url: str) -> None:
    """What was embedded before is there, whole, and an import that is stopped goes on from there the next time."""
    embedder, lines = Counting("line 300"), [note(f"line {n}") for n in range(400)]
    async with engine(database_url, embedder=embedder) as memory:
        ticks: list[int] = []
        running = asyncio.create_task(memory.ingest(scope(), lines, ticks.append))
        await embedder.reached.wait()
        async with asyncio.timeout(10):
            while not sum(ticks):
                await asyncio.sleep(0.01)
        await whole(memory, 128, 256)  # the second batch may be written just now
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        left = 400 - (await memory.read_status(scope()))["rev"]
        await whole(memory, 400 - left)
        embedder.go_on.set()
        assert await memory.ingest(scope(), lines) == left > 0
        await whole(memory, 400)


async def test_the_ledger_does_not_wait_for_an_import(database_url: str) -> None:
    """A turn that is being recorded and an import into the same space hold each other up at no point."""
    async with engine(database_url) as memory:
        await memory.ingest(scope(), [note("before")])
        async with await psycopg.AsyncConnection.connect(database_url) as recording:
            await recording.execute(_RECORD, (scope().space, uuid4()))
            async with asyncio.timeout(5):
                assert await memory.ingest(scope(), [note("meanwhile")]) == 1
            await recording.commit()
        await whole(memory, 2)


async def test_what_was_embedded_before_a_failure_is_kept(database_url: str) -> None:
    """An embedder that fails in the middle of an import costs what it did not embed, and nothing else."""
    lines = [note(f"line {n}") for n in range(1_000)]
    async with engine(database_url, embedder=Failing("line 800")) as memory:
        ticks: list[int] = []
        with pytest.raises(ModelUnavailable):
            await memory.ingest(scope(), lines, ticks.append)
        assert sum(ticks) == 768
        await whole(memory, 768)


async def test_two_imports_of_the_same(database_url: str) -> None:
    """Two engines import the same at once, while a third writes: every line is there once, revisions have no gap."""
    lines = [note(f"line {n}") for n in range(700)]
    async with engine(database_url) as one, engine(database_url) as two, engine(database_url) as three:
        texts = ("A heron stole a fish", "We baked rye bread", "Rain")
        added, kept = await asyncio.gather(
            asyncio.gather(one.ingest(scope(), lines), two.ingest(scope(), lines)),
            asyncio.gather(*(three.keep_candidates(scope(), [note(text)]) for text in texts)),
        )
        assert (sum(added), [len(one.changes) for one in kept]) == (700, [1, 1, 1])
        await whole(one, 703)


async def test_candidates_are_not_read_far_ahead(database_url: str) -> None:
    """However long a stream is, only a few thousand of it are in memory."""
    read = written = ahead = 0

    def stream() -> Iterator[Candidate]:
        nonlocal read, ahead
        for n in range(9_000):
            read += 1
            ahead = max(ahead, read - written)
            yield Candidate(text=f"line {n}", category="activity", kind="episodic")

    def progress(count: int) -> None:
        nonlocal written
        written += count

    async with engine(database_url) as memory:
        assert await memory.ingest(scope(), stream(), progress) == written == 9_000
    assert ahead < 6_000


@pytest.mark.parametrize("changed", [
    {"category": "a\0b"}, {"category": "\ud800"}, {"importance": 9}, {"importance": 10**9},
    {"confidence": float("nan")},
    {"confidence": float("inf")}, {"importance": 2.0},
])  # fmt: skip
async def test_a_batch_that_cannot_be(database_url: str, changed: dict[str, Any]) -> None:
    """It is refused with an error of the house, and nothing of it is kept."""
    async with engine(database_url) as memory:
        with pytest.raises(MunimentError):
            await memory.ingest(scope(), [note("fine"), replace(note("broken"), **changed)])
        assert await memory.list(scope()) == []
        assert await memory.ingest(scope(), [note("fine")]) == 1


async def test_two_that_say_the_same(database_url: str) -> None:
    """Two facts with one key cannot both be active: the batch is refused and says why."""
    async with engine(database_url) as memory:
        with pytest.raises(BadInput, match="say the same"):
            await memory.ingest(scope(), [statement("The user wants tea"), statement("The user wants tea")])
        assert await memory.list(scope()) == []


async def whole(memory: Memory, *counts: int) -> None:
    """So many memories, or so many, each with its line of the journal, its turn, and a revision of its own."""
    rows = await memory.export(scope())
    count = rows[0]["rev"]
    assert count in counts
    for kind in ("memory", "journal"):
        assert sorted(row["rev"] for row in rows if row["type"] == kind) == list(range(1, count + 1))
