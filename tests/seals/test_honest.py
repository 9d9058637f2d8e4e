"""Whatever the product itself does, nothing is found.

MUNIMENT_TEST_SEALS is how many operations are done: 120, or 10000 for the long run."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from random import Random

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.memory import STATES, StoredMemory
from muniment.memory.domain.plan import Change
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, Conflict, NotFound
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, note, said, scope
from tests.erasing import commit
from tests.switching import unopened

OPERATIONS = int(os.environ.get("MUNIMENT_TEST_SEALS", "120"))
SEED = int(os.environ.get("MUNIMENT_TEST_SEED", "20261128"))
CITIES = ("Oslo", "Ghent", "Lima", "Porto", "Riga", "Turin", "Quito", "Cork")
THINGS = ("the cello", "green tea", "old maps", "the night train", "rye bread", "glass harps", "kites", "chess")
# Another process, which learns until it is killed.
WRITER = """
import asyncio, sys
from itertools import count
from tests.engine import engine, note, said, scope

async def write():
    async with engine(sys.argv[1]) as memory:
        for n in count():
            await memory.learn(scope(), said(f"I like shelf {sys.argv[2]}-{n}, and I live in Town {n}."))
            await memory.ingest(scope(), [note(f"Entry {sys.argv[2]}-{n}-{m}") for m in range(5)])
            print(n, flush=True)

asyncio.run(write())
"""


# Operations in the space of one person, before somebody else's begins: an export, a consolidation and a verification of
# one space that holds all of a long run would be most of it.
OF_ONE_PERSON = 50
BETWEEN_CHECKS = 10


class Life:
    """What people, a worker and an operator do with one space after the other, at random."""

    def __init__(self, memory: Memory, clock: FixedClock, random: Random) -> None:
        self.memory, self.clock, self.random = memory, clock, random
        self.who = scope()
        self.people = [self.who]
        self.count = 0
        often: list[Callable[[], Awaitable[object]]] = [
            self.learn, self.learn, self.remember, self.ingest, self.edit, self.forget, self.restore, self.pin,
        ]  # fmt: skip
        seldom: list[Callable[[], Awaitable[object]]] = [
            self.erase, self.consolidate, self.undo, self.write_at_once, self.maintain, self.twice, self.move,
        ]  # fmt: skip
        self.operations = often * 3 + seldom

    async def do_many(self, operations: int) -> None:
        """As many operations, with a verification after some of them; at the end one of every space."""
        while self.count < operations:
            await self.do_one()
            if self.count % BETWEEN_CHECKS == 0:
                await check(self.memory, self.who)
            if self.count % OF_ONE_PERSON == 0:
                self.who = scope(f"person-{self.count}")
                self.people.append(self.who)
                await self.learn()
        for who in self.people:
            await check(self.memory, who)

    async def do_one(self) -> None:
        """One operation. That the product refuses one is its right."""
        self.count += 1
        self.clock.advance(60 * self.random.randrange(600))
        with suppress(BadInput, NotFound, Conflict):
            await self.random.choice(self.operations)()

    async def learn(self) -> None:
        await self.memory.learn(self.who, said(self._sentence(), at=self.clock.now()))

    async def remember(self) -> None:
        await self.memory.remember(self.who, f"I keep {self.random.choice(THINGS)} in box {self.count}")

    async def ingest(self) -> None:
        many = self.random.randrange(1, 12)
        await self.memory.ingest(self.who, [note(f"{self._sentence()} ({self.count}, {n})") for n in range(many)])

    async def edit(self) -> None:
        was = await self._any("active")
        await self.memory.edits.change_memory(self.who, was.id, text=f"{was.text} Again {self.count}.", importance=4)

    async def forget(self) -> None:
        await self.memory.forget(self.who, (await self._any("active")).id)

    async def restore(self) -> None:
        await self.memory.restore(self.who, (await self._any("soft_deleted")).id)

    async def pin(self) -> None:
        await self.memory.pin(self.who, (await self._any("active")).id, pinned=self.random.random() < 0.7)

    async def twice(self) -> None:
        """One plan that changes a memory twice."""
        was = await self._any("active")
        once = replace(was, text=f"{was.text} Once.")
        changes = [Change(action="UPDATE", before=was, after=once, meta={"said": was.text, "why": "same"})]
        changes.append(Change(action="MERGE", before=once, after=replace(once, text=f"{was.text} Twice.")))
        await commit(self.memory, self.who, *changes)

    async def erase(self) -> None:
        await self.memory.admin.erase(self.who, (await self._any(*STATES)).id)

    async def consolidate(self) -> None:
        await self.memory.admin.consolidate(self.who)

    async def undo(self) -> None:
        for run in await self.memory.admin.list_runs(self.who, 3):
            await self.memory.admin.undo_consolidation(self.who, run.id)

    async def maintain(self) -> None:
        """Forgetting and purging: forgotten memories go for good when their days are over."""
        self.clock.advance(86_400 * self.random.randrange(40))
        await self.memory.admin.maintain(self.who)

    async def write_at_once(self) -> None:
        await asyncio.gather(*(self.learn() for _ in range(4)), self.ingest(), self.remember())

    async def move(self) -> None:
        """An export, restored for somebody else, who goes on with it."""
        rows = await self.memory.export(self.who)
        other = scope(f"heir-{self.count}")
        await self.memory.load(other, rows)
        await self.memory.ingest(other, [note(f"A new entry, {self.count}")])
        await check(self.memory, other)
        await self.memory.admin.erase_space(other)

    def _sentence(self) -> str:
        city, thing = self.random.choice(CITIES), self.random.choice(THINGS)
        return self.random.choice(
            (f"I live in {city}.", f"I like {thing}.", f"I am allergic to {thing}.", f"I moved to {city} for {thing}.")
        )

    async def _any(self, *states: str) -> StoredMemory:
        found = await self.memory.list(self.who, states=states, limit=1000)
        if not found:
            raise NotFound("none")
        return self.random.choice(found)


async def check(memory: Memory, who: Scope) -> None:
    report = await memory.admin.verify(who)
    assert report.findings == ()


@pytest.mark.timeout(300 + OPERATIONS)
async def test_nothing_is_found_where_only_the_product_wrote(database_url: str) -> None:
    """Must hold: honest random operations with merges, undos, restores, erasures, imports, consolidation, embedder
    switches, concurrent writers and kill -9 give no false alarm."""
    random, clock = Random(SEED), FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await Life(memory, clock, random).do_many(OPERATIONS // 2)
    for n in range(max(1, OPERATIONS // 400)):
        kill_a_writer(database_url, n, random)
    async with unopened(database_url, HashEmbedder(40)) as other:
        await other.admin.reembed()
    async with engine(database_url, clock=clock, embedder=HashEmbedder(40)) as memory:
        await check(memory, scope())
        life = Life(memory, clock, random)
        await life.do_many(OPERATIONS // 2)
        await memory.admin.erase_space(life.who)
        await life.learn()
        await check(memory, life.who)


def kill_a_writer(url: str, number: int, random: Random) -> None:
    """A process that writes, killed at a random moment after it began."""
    writer = subprocess.Popen([sys.executable, "-c", WRITER, url, str(number)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    for _ in range(random.randrange(1, 4)):
        assert writer.stdout.readline()
    with suppress(subprocess.TimeoutExpired):
        writer.wait(random.random() * 0.05)
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
