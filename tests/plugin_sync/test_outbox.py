"""What waits in the file: what it makes needless, what is dropped, and what is told."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from muniment.memory.errors import BadInput, Busy
from muniment.plugin.domain.item import MemoryHit, SearchQuery
from muniment.plugin.domain.operation import Operation, OperationAnswer
from muniment.plugin.stores.hybrid.outbox import list_waiting
from muniment.plugin.stores.hybrid.pacing import Pace
from muniment.plugin.stores.hybrid.sender import SendOptions
from muniment.plugin.stores.hybrid.store import HybridStore
from tests.plugin_sync.devices import ANA, CONTENTS, NOON, Clock, Connection, make_item, open_device


class Away(Connection):
    """A server that is not there."""

    def __init__(self) -> None:
        super().__init__(self, is_cut=True)


@pytest.fixture
def clock() -> Clock:
    """A clock at noon."""
    return Clock()


@pytest.fixture
async def device(tmp_path: Path, clock: Clock) -> AsyncIterator[HybridStore]:
    """A device whose server is away, with room for ten operations."""
    store = open_device(tmp_path / "plugin.sqlite", Away(), clock, outbox=10)
    yield store
    await store.close()


async def read_waiting(store: HybridStore) -> list[Operation]:
    return await store.local.database.read(lambda connection: list_waiting(connection, ANA, 1000))


async def test_a_write_and_its_operation_are_one(device: HybridStore) -> None:
    """P-92: what is in the file waits for the server, and what is refused by the file does not."""
    item = make_item(1, CONTENTS[0])
    await device.upsert([item])
    with pytest.raises(BadInput):
        await device.upsert([make_item(2, CONTENTS[1]), make_item(3, "")])
    waiting = await read_waiting(device)
    assert [(each.verb, each.item_id, each.item) for each in waiting] == [("upsert", item.id, item)]


async def test_the_same_again_waits_once(device: HybridStore) -> None:
    """P-84: what the file knows already is no operation."""
    for _ in range(3):
        await device.upsert([make_item(1, CONTENTS[0])])
    await device.upsert([make_item(2, CONTENTS[0])])
    assert len(await read_waiting(device)) == 1


async def test_a_later_operation_takes_the_place_of_one_that_was_never_sent(device: HybridStore) -> None:
    """P-114: of pins the last one, of writes the whole item."""
    item = make_item(1, CONTENTS[0])
    await device.upsert([item])
    for pinned in (True, False, True):
        assert await device.pin(ANA, item.id, pinned=pinned)
    assert [each.verb for each in await read_waiting(device)] == ["upsert", "pin"]
    await device.upsert([make_item(1, CONTENTS[1], updated_at=NOON)])
    assert [(each.verb, each.item and each.item.content) for each in await read_waiting(device)] == [
        ("upsert", CONTENTS[1])
    ]


async def test_what_was_sent_keeps_its_place(device: HybridStore) -> None:
    """P-114: a request that was lost may still arrive, so the server has to know its operation again."""
    item = make_item(1, CONTENTS[0])
    await device.upsert([item])
    await device.pin(ANA, item.id, pinned=True)
    assert not await device.sync_now(ANA)
    await device.pin(ANA, item.id, pinned=False)
    assert [each.verb for each in await read_waiting(device)] == ["upsert", "pin", "unpin"]


async def test_forgetting_leaves_no_text(device: HybridStore, tmp_path: Path) -> None:
    """P-114, P-7: forgetting takes along what waits, also what was sent, with its text."""
    canary = "zebrafish"
    item = make_item(1, f"The mascot of the team is a {canary}.")
    await device.upsert([item])
    assert not await device.sync_now(ANA)
    assert await device.forget(ANA, [item.id]) == [item.id]
    assert [(each.verb, each.item) for each in await read_waiting(device)] == [("forget", None)]
    await device.close()
    for path in tmp_path.iterdir():
        assert canary.encode() not in path.read_bytes(), path.name


async def test_the_oldest_writes_are_dropped_and_it_is_said(
    device: HybridStore, caplog: pytest.LogCaptureFixture
) -> None:
    """P-114: the outbox is bounded; what forgets is never dropped; the items stay in the file."""
    first = make_item(1, CONTENTS[0])
    await device.upsert([first])
    await device.forget(ANA, [first.id])
    with caplog.at_level(logging.WARNING):
        await device.upsert([make_item(number, CONTENTS[number]) for number in range(2, 14)])
    waiting = await read_waiting(device)
    assert [each.verb for each in waiting] == ["forget", *["upsert"] * 9]
    assert waiting[-1].item_id == make_item(13, "").id
    status = await device.read_outbox_status()
    assert (status.waiting, status.dropped) == (10, 3)
    assert "dropped" in caplog.text
    assert CONTENTS[2] not in caplog.text


async def test_a_server_that_is_away_is_left_alone_for_a_while(device: HybridStore, clock: Clock) -> None:
    """P-83, P-92: the failure is kept in the file, with the time of the next attempt."""
    await device.upsert([make_item(1, CONTENTS[0])])
    for number in range(1, 4):
        assert not await device.sync_now(ANA)
        status = await device.read_outbox_status()
        assert (status.failures, status.last_error, status.waiting) == (number, "StoreDown", 1)
        assert status.next_at is not None
        assert status.next_at > clock.at


async def test_a_search_goes_on_without_the_server(device: HybridStore) -> None:
    """P-90, P-92: the file answers alone."""
    await device.upsert([make_item(1, CONTENTS[0])])
    hits = await device.search(SearchQuery(owner=ANA, text="captcha of the login page", at=NOON))
    assert not hits
    hits = await device.search(SearchQuery(owner=ANA, text="port of the billing service of Lisbon", at=NOON))
    assert [hit.item.id for hit in hits] == [make_item(1, "").id]


class Refusing(Away):
    """A server that takes no batch with a certain operation in it, and answers nothing that fits to another."""

    lies = False

    async def apply_operations(self, operations: list[Operation]) -> list[OperationAnswer]:  # type: ignore[override] # lists
        self.batches += 1
        if any(each.item_id == make_item(5, "").id for each in operations):
            raise BadInput
        answers = [
            OperationAnswer(operation_id=each.id, outcome="applied", item_id=each.item_id) for each in operations
        ]
        return answers[1:] if self.lies else answers


async def test_what_the_server_never_takes_is_set_aside(tmp_path: Path, clock: Clock) -> None:
    """P-83: one bad operation among twenty does not hold up the others."""
    connection = Refusing()
    store = open_device(tmp_path / "plugin.sqlite", connection, clock)
    await store.upsert([make_item(number, CONTENTS[number]) for number in range(20)])
    await store.sync_now(ANA)
    status = await store.read_outbox_status()
    assert status.waiting == 0
    assert [(each.item_id, each.reason) for each in status.aside] == [(make_item(5, "").id, "BadInput")]
    assert connection.batches <= 12
    await store.close()


async def test_answers_that_do_not_fit_are_no_answers(tmp_path: Path, clock: Clock) -> None:
    """A server that lies is one that is away: what was sent waits on."""
    connection = Refusing()
    connection.lies = True
    store = open_device(tmp_path / "plugin.sqlite", connection, clock)
    await store.upsert([make_item(number, CONTENTS[number]) for number in range(3)])
    assert not await store.sync_now(ANA)
    status = await store.read_outbox_status()
    assert (status.waiting, status.last_error) == (3, "WrongAnswer")
    await store.close()


async def wait_for(connection: Connection, batches: int) -> None:
    """Wait until so many batches were sent."""
    async with asyncio.timeout(10):
        while connection.batches < batches:
            await asyncio.sleep(0.01)


async def test_writes_wait_for_their_share_of_the_turns(tmp_path: Path) -> None:
    """P-29, P-83: 100 turns that each write something cost at most 15 requests, and a person's command goes at once."""
    connection, pace = Refusing(), Pace(writes_per_100_turns=15, collect=timedelta())
    store = open_device(
        tmp_path / "plugin.sqlite", connection, Clock(), is_automatic=True, sending=SendOptions(pace=pace)
    )
    for number in range(100):
        store.note_turn(ANA)
        await store.upsert([make_item(number + 10, f"{CONTENTS[number % 30][:-1]} in the year {1900 + number}.")])
        await asyncio.sleep(0.01)
    await wait_for(connection, 8)
    assert connection.batches <= 10  # the others are left for commands
    sent = store.remote_writes
    assert sent == connection.batches
    await store.pin(ANA, make_item(109, "").id, pinned=True)
    await wait_for(connection, sent + 1)
    await store.close()


async def test_a_short_session_sends_nothing_alone(tmp_path: Path) -> None:
    """P-29, P-83: sessions of five turns share a request, which goes when one of them ends, and with all that waits."""
    connection, pace = Refusing(), Pace(writes_per_100_turns=15)
    batches = []
    for session in range(4):
        store = open_device(
            tmp_path / "plugin.sqlite", connection, Clock(), is_automatic=True, sending=SendOptions(pace=pace)
        )
        for turn in range(6):
            store.note_turn(ANA)
            number = 6 * session + turn
            await store.upsert([make_item(number + 10, CONTENTS[number])])
        await store.close()
        batches.append(connection.batches)
    assert batches == [0, 1, 1, 2]


class Slow(Away):
    """A server that answers no search in time."""

    async def search(self, query: SearchQuery) -> list[MemoryHit]:
        self.searches += 1
        await asyncio.sleep(60)
        return []


async def test_a_slow_server_is_left_alone_for_a_while(tmp_path: Path, clock: Clock) -> None:
    """P-28, P-41: it costs the time for a search three times, and is tried again after half a minute."""
    connection = Slow()
    store = open_device(tmp_path / "plugin.sqlite", connection, clock, remote_seconds=0.01)
    query = SearchQuery(owner=ANA, text="captcha of the login page", at=NOON)
    for _ in range(6):
        assert not await store.search(query)
    assert connection.searches == 3
    clock.advance(seconds=31)
    for _ in range(3):
        assert not await store.search(query)
    assert connection.searches == 4
    await store.close()


async def test_a_file_that_another_process_holds_is_busy(tmp_path: Path, clock: Clock) -> None:
    """P-117: nothing is written then, and nothing waits; the next call works."""
    store = open_device(tmp_path / "plugin.sqlite", Away(), clock, busy_seconds=0.1)
    await store.upsert([make_item(1, CONTENTS[0])])
    with closing(sqlite3.connect(tmp_path / "plugin.sqlite", isolation_level=None)) as other:
        other.execute("begin immediate")
        with pytest.raises(Busy):
            await store.upsert([make_item(2, CONTENTS[1])])
        query = SearchQuery(owner=ANA, text="port of the billing service of Lisbon", at=NOON)
        assert [hit.item.id for hit in await store.search(query)] == [make_item(1, "").id]
        other.execute("rollback")
    await store.upsert([make_item(2, CONTENTS[1])])
    assert len(await read_waiting(store)) == 2
    await store.close()
