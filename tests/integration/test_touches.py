"""What was retrieved is counted: beside the reply, waiting for nobody, and written later."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from datetime import datetime
from types import FrameType
from typing import TYPE_CHECKING, cast
from uuid import UUID
from weakref import WeakSet

import psycopg
import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import StoreDown
from muniment.memory.flows import process_state
from muniment.memory.flows.process_state import AccessLog
from muniment.memory.ports.writes import MemoryWrites
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, note, scope
from tests.integration.test_tending import DAY, WHO, ask, kept, standing, state

if TYPE_CHECKING:
    from _typeshed import TraceFunction

OWNER = Scope(owner=WHO.owner)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOON)


@pytest.fixture
async def memory(database_url: str, clock: FixedClock) -> AsyncIterator[Memory]:
    async with engine(database_url, clock=clock) as opened:
        yield opened


def counts(url: str, ids: Sequence[MemoryId]) -> list[tuple[int, datetime | None]]:
    found = {
        id_: (count, at)
        for id_, count, at in ask(url, "select memory_id, access_count, last_accessed_at from muniment.memories")
    }
    return [found[one] for one in ids]


async def test_what_is_retrieved_is_counted(memory: Memory, clock: FixedClock, database_url: str) -> None:
    """Once written with the flush, then not for a while, at last at the end; never a revision; not what is always
    shown."""
    tea, door = await kept(memory, "The teahouse opens at nine", "The green door is locked")
    (name,) = await kept(memory, "Ana was born in Porto", category="profile")
    rev = standing(database_url)[0]

    async def look() -> None:
        found = await memory.query(WHO, "supervisor", Query(text="When does the teahouse open?", top_k=1))
        assert [hit.memory.id for hit in found.hits] == [tea]

    await look()
    await memory.brief(WHO, "supervisor", "When does the teahouse open?")
    assert counts(database_url, [tea]) == [(0, None)]
    await memory.conversation.flush(WHO)
    assert counts(database_url, [tea, door, name]) == [(2, NOON), (0, None), (0, None)]
    for seconds, count in ((599, 2), (1, 4), (1, 4)):
        clock.advance(seconds)
        await look()
        await memory.conversation.flush(WHO)
        assert counts(database_url, [tea])[0][0] == count
    await memory.query(WHO, "supervisor", Query(text="When does the teahouse open?", as_of=Revision(rev)))
    await memory.close()
    assert counts(database_url, [tea]) == [(5, clock.now())]
    assert standing(database_url)[0] == rev
    assert ask(database_url, "select count(*) from muniment.memory_versions") == [(0,)]


async def test_counting_waits_for_no_writer(memory: Memory, database_url: str) -> None:
    """What another transaction holds is left out and counted later; the rest is written at once."""
    tea, door = await kept(memory, "The teahouse opens at nine", "The teahouse has a green door")
    await memory.query(WHO, "supervisor", Query(text="What is the teahouse like, when does it open?"))
    async with await psycopg.AsyncConnection.connect(database_url) as writer:
        await writer.execute("update muniment.memories set importance = 4 where memory_id = %s", (tea,))
        await asyncio.wait_for(memory.conversation.flush(WHO), 2)
        assert [count for count, _ in counts(database_url, [tea, door])] == [0, 1]
        await writer.commit()
    await memory.conversation.flush(WHO)
    assert [count for count, _ in counts(database_url, [tea, door])] == [1, 1]


@pytest.mark.parametrize(("full", "most", "late"), [(1, 9, 0), (9, 1, 0), (9, 9, 3_600), (9, 9, -60)])
async def test_counting_writes_itself_when_there_is_much_or_for_long(
    memory: Memory,
    clock: FixedClock,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    full: int,
    most: int,
    late: int,
) -> None:
    """A reader that never flushes loses little, and waits for nothing; neither does it when its clock was set back."""
    monkeypatch.setattr("muniment.memory.flows.process_state._FULL", full)
    monkeypatch.setattr("muniment.memory.flows.process_state._MOST", most)
    (tea,) = await kept(memory, "The teahouse opens at nine")
    clock.advance(late)
    await memory.query(WHO, "supervisor", Query(text="When does the teahouse open?"))
    for _ in range(100):
        await asyncio.sleep(0.02)
        if counts(database_url, [tea])[0][0]:
            return
    pytest.fail("it was not written")


async def test_a_clock_that_was_set_back_stops_no_counting(
    memory: Memory, clock: FixedClock, database_url: str
) -> None:
    """What was written at a time that is yet to come was not lately."""
    (tea,) = await kept(memory, "The teahouse opens at nine")
    for minutes in (30, -30):
        clock.advance(minutes * 60)
        await memory.query(WHO, "supervisor", Query(text="When does the teahouse open?", top_k=1))
        await memory.conversation.flush(WHO)
    assert counts(database_url, [tea])[0][0] == 2


class Desk:
    """Notes who is written, or cannot."""

    def __init__(self, *, down: bool = False) -> None:
        self.down = down
        self.tried: list[str] = []

    async def record_access(self, scope: Scope, counts: Mapping[MemoryId, int], at: datetime) -> frozenset[MemoryId]:
        self.tried.append(scope.owner)
        if self.down:
            raise StoreDown("the database cannot be reached")
        return frozenset()


@pytest.mark.parametrize("down", [False, True])
async def test_a_space_is_written_when_it_has_much_and_all_when_all_have(*, down: bool) -> None:
    """A write for each space whenever a few thousand are counted in all would be nearly one for each query; and what
    cannot be written is tried again no sooner."""
    desk = Desk(down=down)
    touches = AccessLog(cast("MemoryWrites", desk), FixedClock(NOON))

    async def note(owner: str, some: range) -> None:
        touches.record_access(scope(owner), [MemoryId(UUID(int=n)) for n in some])
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    for n in range(9):
        await note(f"user {n}", range(999))
    assert desk.tried == []
    await note("user 3", range(1))
    await note("user 3", range(998))
    assert desk.tried == ["user 3"]
    for n in range(10):
        await note(f"guest {n}", range(999))
    await note("guest 0", range(10))
    assert desk.tried == ["user 3", "guest 0"]
    for n in range(10, 12):
        await note(f"guest {n}", range(999))
    await note("guest 1", range(500))
    assert len(desk.tried) == 2 + (1 if down else 20)


async def count_lines(call: Awaitable[None]) -> int:
    """The lines of the access log that the call runs, each pass of a loop anew."""
    count = 0

    def trace(frame: FrameType, event: str, _argument: object) -> TraceFunction | None:
        nonlocal count
        if frame.f_code.co_filename != process_state.__file__:
            return None  # what a garbage collection ends may run anywhere
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        await call
    finally:
        sys.settrace(before)
    return count


async def test_a_flush_looks_at_its_own_space() -> None:
    """However many other spaces were written lately; and what was written long ago is let go of."""
    clock = FixedClock(NOON)
    touches = AccessLog(cast("MemoryWrites", Desk()), clock)
    ids: WeakSet[UUID] = WeakSet()
    lines: list[int] = []
    for n in range(2_000):
        ids.add(retrieved := UUID(int=n))
        touches.record_access(scope(f"user {n}"), [MemoryId(retrieved)])
        lines.append(await count_lines(touches.flush(scope(f"user {n}"))))
    assert 0 < max(lines) == lines[0]
    del retrieved
    assert len(ids) == 2_000
    clock.advance(600)
    touches.record_access(scope(), [MemoryId(UUID(int=2_000))])
    await touches.flush(scope())
    gc.collect()
    assert len(ids) == 0


async def test_what_gave_way_before_it_was_counted_counts_for_its_heir(
    memory: Memory, clock: FixedClock, database_url: str
) -> None:
    """Also by way of another one, with the heir's own, and when a writer holds the heir; who comes back keeps what was
    counted before, to the number."""
    twins = [note(text) for text in ("The teahouse opens at nine", "The teahouse opens at nine.")]
    await memory.ingest(WHO, twins)
    both = [one.id for one in await memory.list(WHO)]
    await memory.engine.store.writes.record_access(WHO, dict(zip(both, (3, 5), strict=True)), NOON)
    memory.engine.access_log.record_access(OWNER, [*both, both[0]])
    first = await memory.admin.consolidate(WHO)
    await memory.ingest(WHO, [note("The teahouse opens at nine!", pinned=True)])
    (last,) = {one.id for one in await memory.list(WHO)} - set(both)
    memory.engine.access_log.record_access(OWNER, [last])
    second = await memory.admin.consolidate(WHO)
    assert first
    assert second
    assert (first.same, second.same) == (1, 1)
    assert [one.id for one in await memory.list(WHO)] == [last]
    before = counts(database_url, [*both, last])
    assert before[2] == (8, NOON)
    clock.advance(60)
    memory.engine.access_log.record_access(OWNER, [both[1]])
    async with await psycopg.AsyncConnection.connect(database_url) as writer:
        await writer.execute("update muniment.memories set importance = 4 where memory_id = %s", (last,))
        await asyncio.wait_for(memory.conversation.flush(WHO), 2)
        assert counts(database_url, [*both, last]) == before
        await writer.commit()
    await memory.conversation.flush(WHO)
    assert counts(database_url, [*both, last]) == [*before[:2], (8 + 5, clock.now())]
    for run in (second, first):
        assert (await memory.admin.undo_consolidation(WHO, run.id)).left == 0
    assert [count for count, _ in counts(database_url, [*both, last])] == [3, 5, 5]


async def test_a_circle_of_heirs_ends(memory: Memory, clock: FixedClock, database_url: str) -> None:
    """A database that was edited by hand makes no flush run for ever; what is not there any more is let go of."""
    tea, door = await kept(memory, "The teahouse opens at nine", "The green door is locked")
    ask(
        database_url,
        "update muniment.memories set state = 'superseded', superseded_by = case memory_id when %s then %s::uuid "
        "else %s::uuid end",
        tea,
        door,
        tea,
    )
    memory.engine.access_log.record_access(OWNER, [tea, door, MemoryId(UUID(int=1))])
    await asyncio.wait_for(memory.conversation.flush(WHO), 5)
    assert sum(count for count, _ in counts(database_url, [tea, door])) == 2


async def test_what_was_retrieved_is_not_forgotten(memory: Memory, clock: FixedClock) -> None:
    """The count need not be written yet, where the same process tends."""
    tea, door = await kept(memory, "The teahouse opens at nine", "The green door is locked")
    clock.advance(60 * DAY)
    await memory.query(WHO, "supervisor", Query(text="When does the teahouse open?", top_k=1))
    assert (await memory.admin.maintain(WHO)).forgotten == 1
    assert [await state(memory, one) for one in (tea, door)] == ["active", "soft_deleted"]
