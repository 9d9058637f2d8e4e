"""What two devices do for days without a server between them, and what has to hold when they have met."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from random import Random
from uuid import UUID

from muniment.memory.errors import DuplicateMemory, StoreDown
from muniment.plugin.domain.item import SearchQuery
from muniment.plugin.domain.operation import Operation
from muniment.plugin.stores.engine.store import EngineStore
from muniment.plugin.stores.hybrid.store import HybridStore
from tests.plugin_sync.devices import ANA, CONTENTS, Clock, Connection, list_all, make_item

ATTEMPTS = 200  # of two devices to agree over a bad connection


@dataclass
class Journey:
    """Two devices, their connections, and what was done on them."""

    devices: Sequence[HybridStore]
    connections: Sequence[Connection]
    server: EngineStore
    clock: Clock
    random: Random
    contents: Sequence[str] = CONTENTS
    known: list[str] = field(default_factory=list)  # ids that were given to items
    forgotten: list[dict[str, str]] = field(default_factory=lambda: [{}, {}])  # by device: ids and contents
    done: int = 0

    async def do_something(self, at: int) -> None:
        """Do one random thing on a device."""
        self.clock.advance(minutes=1)
        await self.do(at, self.random.choices(("write", "change", "pin", "forget"), (10, 2, 3, 3))[0])

    async def do(self, at: int, what: str) -> None:
        """Do one thing to something that is there, or write."""
        device, there = self.devices[at], await list_all(self.devices[at], self.clock.at)
        self.done += 1
        if what == "write" or not there:
            item = make_item(
                0,
                self.random.choice(self.contents),
                id=str(UUID(int=self.random.getrandbits(128), version=4)),
                created_at=self.clock.at,
            )
            self.known += [stored.id for stored in await device.upsert([item]) if stored.outcome == "added"]
            return
        id_ = self.random.choice(sorted(there))
        content, pinned = there[id_]
        if what == "change":
            changed = make_item(0, self.random.choice(self.contents), id=id_, updated_at=self.clock.at, pinned=pinned)
            await device.upsert([changed])
        elif what == "pin":
            assert await device.pin(ANA, id_, pinned=not pinned)
        else:
            assert await device.forget(ANA, [id_]) == [id_]
            is_twin = any(other == content for key, (other, _) in there.items() if key != id_)
            self.forgotten[at][id_] = "" if is_twin else content

    async def sync(self, at: int, *, is_busy: bool = False) -> bool:
        """Let a device meet the server; where it `is_busy`, something is done on it while changes are on their way.
        What it has forgotten is not shown there again."""
        if is_busy:
            self.connections[at].meanwhile = partial(self.do_something, at)
        done = await self.devices[at].sync_now(ANA)
        self.connections[at].meanwhile = None
        await self.check_forgotten(at)
        return done

    async def meet(self) -> None:
        """Let both meet the server until neither has anything to say or to hear."""
        for _ in range(ATTEMPTS):
            self.clock.advance(minutes=10)
            first = [await self.sync(at) for at in (0, 1)]
            again = [await self.sync(at) for at in (0, 1)]
            if all(first + again) and await self._has_settled():
                return
        raise AssertionError([await device.read_outbox_status() for device in self.devices])

    async def _has_settled(self) -> bool:
        """Whether both devices have seen the server's last change."""
        states = [await device.read_outbox_status() for device in self.devices]
        return states[0].revision == states[1].revision and not states[0].waiting and not states[1].waiting

    async def check_forgotten(self, at: int) -> None:
        """Nothing that was forgotten on a device is there under its id, nor in its words."""
        there = await list_all(self.devices[at], self.clock.at)
        assert not set(there) & set(self.forgotten[at])
        assert not {content for content, _ in there.values()} & set(self.forgotten[at].values())

    async def check_agreement(self) -> None:
        """Both devices and the server have the same items, each once; nothing is left over or was done twice."""
        states = [await list_all(store, self.clock.at) for store in (*self.devices, self.server)]
        assert states[0] == states[1]
        assert states[0] == states[2]
        contents = [content for content, _ in states[0].values()]
        assert len(contents) == len(set(contents))
        for device in self.devices:
            status = await device.read_outbox_status()
            assert (status.waiting, status.dropped) == (0, 0)
            # Of two changes that make two items one fact, the server refuses the later.
            assert {each.reason for each in status.aside} <= {str(DuplicateMemory())}
        await self.check_journal()

    async def check_journal(self) -> None:
        """The server has changed nothing more often than operations were issued."""
        issued: dict[str, Operation] = {each.id: each for line in self.connections for each in line.sent}
        page, since, lines = None, 0, 0
        while page is None or not page.is_last:
            page = await self.server.read_changes(ANA, since)
            since, lines = page.revision, lines + len(page.changes)
        assert lines <= len(issued)

    async def check_search(self) -> None:
        """A search of both devices finds each item in its own words, first."""
        for id_, (content, _) in (await list_all(self.server, self.clock.at)).items():
            for device in self.devices:
                query = SearchQuery(owner=ANA, text=content, at=self.clock.at)
                assert id_ in [hit.item.id for hit in await device.search(query)]

    async def close(self) -> None:
        """Close both devices."""
        for device in self.devices:
            with suppress(StoreDown):
                await device.close()
