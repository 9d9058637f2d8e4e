"""Two devices with one server, over the real stores, while requests and replies are lost."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from muniment.plugin.domain.item import ItemOwner, SearchQuery
from muniment.plugin.stores.engine.store import EngineStore
from tests.plugin_sync.devices import (
    ANA,
    CONTENTS,
    NOON,
    Clock,
    Connection,
    list_all,
    make_item,
    open_device,
    open_server,
)
from tests.plugin_sync.journeys import Journey

RUNS = int(os.environ.get("MUNIMENT_TEST_SYNC_RUNS", "6"))
WEEK = int(os.environ.get("MUNIMENT_TEST_SYNC_WEEK", "160"))  # things done on two devices in a week; 2,000 by switch


@asynccontextmanager
async def begin(server: EngineStore, folder: Path, seed: int, lost: float) -> AsyncIterator[Journey]:
    """Two devices whose connections lose a share of what they carry."""
    clock, random = Clock(), Random(seed)
    lines = [Connection(server, random=random, lost=lost) for _ in range(2)]
    devices = [open_device(folder / f"{at}.sqlite", line, clock) for at, line in enumerate(lines)]
    journey = Journey(devices=devices, connections=lines, server=server, clock=clock, random=random)
    yield journey
    await journey.close()


@pytest.mark.parametrize("seed", range(RUNS))
@pytest.mark.timeout(300)
async def test_two_devices_agree_over_a_bad_connection(database_url: str, tmp_path: Path, seed: int) -> None:
    """P-84, P-114: three in ten requests and replies are lost; both agree, nothing is there twice or comes back."""
    async with open_server(database_url) as server, begin(server, tmp_path, seed, lost=0.3) as journey:
        for _ in range(40):
            at = journey.random.randrange(2)
            if journey.random.random() < 0.25:
                await journey.sync(at, is_busy=journey.random.random() < 0.5)
            else:
                await journey.do_something(at)
        await journey.meet()
        await journey.check_agreement()


@pytest.mark.timeout(900)
async def test_a_week_apart(database_url: str, tmp_path: Path) -> None:
    """P-92, P-114: both devices are offline for a week, then together again."""
    async with open_server(database_url) as server, begin(server, tmp_path, 7, lost=0.0) as journey:
        journey.contents = [
            f"{content[:-1]} since {year}." for content in CONTENTS for year in range(1990, 1990 + max(2, WEEK // 40))
        ]
        for at in (0, 1):
            await journey.sync(at)
        for line in journey.connections:
            line.is_cut = True
        for number in range(WEEK):
            await journey.do_something(number % 2)
            if number % 50 == 0:
                assert not await journey.devices[number % 2].sync_now(ANA)
        for line in journey.connections:
            line.is_cut = False
        await journey.meet()
        await journey.check_agreement()
        assert sum(line.batches for line in journey.connections) <= WEEK / 20 + 10


async def test_a_stand_in_gives_way_to_the_id_of_the_server(database_url: str, tmp_path: Path) -> None:
    """P-84: what waits for an id that the server knows under another one follows it, and the old id leads on."""
    async with open_server(database_url) as server, begin(server, tmp_path, 1, lost=0.0) as journey:
        one, two = journey.devices
        first, second = make_item(1, CONTENTS[0]), make_item(2, CONTENTS[0])
        await one.upsert([first])
        await two.upsert([second])
        assert await one.sync_now(ANA)
        journey.connections[1].lost = 1.0
        assert not await two.sync_now(ANA)
        await two.pin(ANA, second.id, pinned=True)
        journey.connections[1].lost = 0.0
        assert await two.sync_now(ANA)
        assert await list_all(two) == {first.id: (CONTENTS[0], True)}
        assert await two.forget(ANA, [second.id]) == [second.id]
        await journey.meet()
        assert [await list_all(store) for store in (one, two, server)] == [{}, {}, {}]


async def test_the_later_pin_wins_by_the_order_of_the_server(database_url: str, tmp_path: Path) -> None:
    """P-114: whatever the clocks of the devices say."""
    async with open_server(database_url) as server, begin(server, tmp_path, 1, lost=0.0) as journey:
        one, two = journey.devices
        item = make_item(1, CONTENTS[0])
        await one.upsert([item])
        await journey.meet()
        await two.pin(ANA, item.id, pinned=True)
        await journey.sync(1)
        await journey.sync(0)
        await one.pin(ANA, item.id, pinned=False)
        journey.clock.advance(days=-3)
        await journey.sync(0)
        await journey.sync(1)
        assert [await list_all(store) for store in (one, two, server)] == [{item.id: (CONTENTS[0], False)}] * 3


async def test_what_is_sent_again_does_nothing_again(database_url: str, tmp_path: Path) -> None:
    """P-84: a pin whose reply was lost does not undo what another device has decided since."""
    async with open_server(database_url) as server, begin(server, tmp_path, 1, lost=0.0) as journey:
        one, two = journey.devices
        item = make_item(1, CONTENTS[0])
        await one.upsert([item])
        await journey.meet()
        await one.pin(ANA, item.id, pinned=True)
        journey.connections[0].loses_replies = True
        assert not await one.sync_now(ANA)
        await journey.sync(1)
        await two.pin(ANA, item.id, pinned=False)
        await journey.sync(1)
        journey.connections[0].loses_replies = False
        await journey.meet()
        assert [await list_all(store) for store in (one, two, server)] == [{item.id: (CONTENTS[0], False)}] * 3


async def test_a_refusal_whose_reply_was_lost_is_said_again(database_url: str, tmp_path: Path) -> None:
    """P-114: what another device has forgotten in the same words is not written, and leaves the file that wrote it."""
    async with open_server(database_url) as server, begin(server, tmp_path, 1, lost=0.0) as journey:
        one, two = journey.devices
        await one.upsert([make_item(1, CONTENTS[0])])
        await journey.sync(0)
        assert await one.forget(ANA, [make_item(1, CONTENTS[0]).id])
        await journey.sync(0)
        await two.upsert([make_item(2, CONTENTS[0])])
        journey.connections[1].loses_replies = True
        assert not await two.sync_now(ANA)
        journey.connections[1].loses_replies = False
        await journey.meet()
        assert [await list_all(store) for store in (one, two, server)] == [{}, {}, {}]


async def test_a_change_to_forgotten_words_is_not_made(database_url: str, tmp_path: Path) -> None:
    """P-114: the item stays as the server has it, on the device that changed it, too."""
    async with open_server(database_url) as server, begin(server, tmp_path, 1, lost=0.0) as journey:
        one, two = journey.devices
        gone, kept = make_item(1, CONTENTS[0]), make_item(2, CONTENTS[1])
        await one.upsert([gone, kept])
        await journey.sync(0)
        assert await one.forget(ANA, [gone.id])
        await journey.sync(0)
        await journey.sync(1)
        await two.upsert([make_item(2, CONTENTS[0], updated_at=NOON)])
        await journey.meet()
        assert [await list_all(store) for store in (one, two, server)] == [{kept.id: (CONTENTS[1], False)}] * 3


async def test_what_is_done_while_changes_are_on_their_way_stays(database_url: str, tmp_path: Path) -> None:
    """P-114: changes that do not know of it yet are not taken over."""
    async with open_server(database_url) as server, begin(server, tmp_path, 1, lost=0.0) as journey:
        one, two = journey.devices
        item, line = make_item(1, CONTENTS[0]), journey.connections[1]
        await one.upsert([item])
        await journey.meet()
        await one.upsert([make_item(1, CONTENTS[1], updated_at=NOON)])
        await journey.sync(0)

        async def pin() -> None:
            assert await two.pin(ANA, item.id, pinned=True)

        line.meanwhile = pin
        assert not await two._sender.pull_changes(ANA)
        assert (await list_all(two))[item.id] == (CONTENTS[0], True)
        await journey.meet()
        assert [await list_all(store) for store in (one, two, server)] == [{item.id: (CONTENTS[1], True)}] * 3


async def test_forgetting_beats_what_is_written_later(database_url: str, tmp_path: Path) -> None:
    """P-114: an item that one device has forgotten does not come back by a change that another made meanwhile."""
    async with open_server(database_url) as server, begin(server, tmp_path, 1, lost=0.0) as journey:
        one, two = journey.devices
        item = make_item(1, CONTENTS[0])
        await one.upsert([item])
        await journey.meet()
        await one.forget(ANA, [item.id])
        await two.pin(ANA, item.id, pinned=True)
        await two.upsert([make_item(1, CONTENTS[1], updated_at=NOON + timedelta(days=1))])
        await journey.sync(0)
        await journey.sync(1)
        await journey.sync(0)
        assert [await list_all(store) for store in (one, two, server)] == [{}, {}, {}]


async def test_the_server_is_searched_only_when_the_file_finds_little(database_url: str, tmp_path: Path) -> None:
    """P-17, P-41, P-82: a find is kept with its age, so that the next search is the file's own."""
    async with open_server(database_url) as server, begin(server, tmp_path, 1, lost=0.0) as journey:
        one, two = journey.devices
        await one.upsert([make_item(1, CONTENTS[0]), make_item(2, CONTENTS[1])])
        await one.sync_now(ANA)
        query = SearchQuery(owner=ANA, text="billing service of Lisbon listens on port", at=NOON)
        found = await two.search(query)
        assert found[0].item.id == make_item(1, "").id
        assert found[0].fetched_at == NOON
        assert journey.connections[1].searches == 1
        again = await two.search(query)
        assert [(hit.item.id, hit.store, hit.fetched_at) for hit in again[:1]] == [(found[0].item.id, "local", NOON)]
        assert journey.connections[1].searches == 1
        journey.clock.advance(days=8)
        await two.search(query)
        assert journey.connections[1].searches == 2


async def test_what_was_forgotten_is_not_found_on_the_server(database_url: str, tmp_path: Path) -> None:
    """P-114: the server does not know yet, and what it finds is not shown."""
    async with open_server(database_url) as server, begin(server, tmp_path, 1, lost=0.0) as journey:
        one, two = journey.devices
        await one.upsert([make_item(1, CONTENTS[0])])
        await journey.meet()
        await two.forget(ANA, [make_item(1, "").id])
        query = SearchQuery(owner=ANA, text="billing service of Lisbon listens on port", at=NOON)
        assert not await two.search(query)
        assert journey.connections[1].searches == 1
        other = ItemOwner(user="ben", tenant=ANA.tenant)
        assert not await two.search(SearchQuery(owner=other, text=query.text, at=NOON))


async def test_a_server_that_has_lost_its_changes_is_read_anew(database_url: str, tmp_path: Path) -> None:
    """A file that is ahead of a server that was set up anew takes over what that has."""
    async with open_server(database_url) as server, begin(server, tmp_path, 1, lost=0.0) as journey:
        one, two = journey.devices
        await one.upsert([make_item(1, CONTENTS[0])])
        await journey.meet()
        with closing(sqlite3.connect(tmp_path / "1.sqlite")) as file, file:
            file.execute("update progress set revision = 1000")
        assert await two.sync_now(ANA)
        assert (await two.read_outbox_status()).revision < 1000
