"""The journal read forward: whoever applies its pages has what a list has, at each revision, in the own categories."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from random import Random

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.journal import SpaceChange
from muniment.memory.domain.memory import STATES, StoredMemory
from muniment.memory.domain.query import ListRequest
from muniment.memory.errors import BadConfig, BadInput
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, note, said, scope
from tests.integration.test_refile import FORMER
from tests.twins import TWINS

ANA = scope()
AGENTS = (None, "stylist", "planner")
DAY = 86_400
STEPS = 30
PLACES = ("Porto", "Lisbon", "Oslo", "Turin", "Bern")
Copy = dict[MemoryId, StoredMemory]


def compare(memory: StoredMemory) -> StoredMemory:
    """A memory without what reads count and without the words around it, which no list of the past has."""
    return replace(memory, access_count=0, last_accessed_at=None, context=None)


def drop_links(copy: Copy) -> Copy:
    """What an erasure takes out of other memories without a revision: the ids of turns and heirs that are gone."""
    return {id_: replace(one, turns=(), superseded_by=None) for id_, one in copy.items()}


def apply(copy: Copy, entries: Iterable[SpaceChange]) -> None:
    for entry in entries:
        copy.pop(entry.memory_id, None)
        if entry.memory is not None:
            copy[entry.memory_id] = compare(entry.memory)


@dataclass
class Follower:
    """Somebody who keeps a copy, and asks for what is new in pages of any size."""

    agent: str | None
    dice: Random
    copy: Copy = field(default_factory=dict)
    since: Revision = Revision(0)  # noqa: RUF009 - a NewType: the number itself

    async def catch_up(self, memory: Memory) -> None:
        while True:
            page = await memory.changes(ANA, self.since, self.dice.randint(1, 7), agent=self.agent)
            revs = [entry.rev for entry in page.entries]
            assert revs == sorted(set(revs))
            assert all(self.since < rev <= page.next <= page.rev for rev in revs)
            apply(self.copy, page.entries)
            self.since = page.next
            if page.next == page.rev:
                return


async def listed(memory: Memory, agent: str | None, as_of: Revision | None = None) -> Copy:
    """What a list of all states has, in the categories of an agent."""
    page = await memory.list_page(ANA, ListRequest(states=STATES, limit=10_000), as_of=as_of)
    found = page.memories
    if agent is not None:
        allowed = memory.engine.recall.make_reader(ANA, agent).allowed
        found = tuple(one for one in found if one.category in allowed)
    return {one.id: compare(one) for one in found}


Act = Callable[[Memory, FixedClock, Random], Awaitable[object]]


async def correct(memory: Memory, clock: FixedClock, dice: Random) -> None:
    await memory.learn(ANA, said(f"No, I live in {dice.choice(PLACES)} now.", at=clock.now()))


async def consolidate(memory: Memory, _: FixedClock, dice: Random) -> None:
    await memory.ingest(ANA, [note(text) for text in dice.sample(TWINS, 2)])
    await memory.admin.consolidate(ANA)


async def undo(memory: Memory, *_: object) -> None:
    for run in await memory.admin.list_runs(ANA):
        if run.same + run.superseded and run.status != "undone":
            await memory.admin.undo_consolidation(ANA, run.id)
            return


async def refile(memory: Memory, _: FixedClock, dice: Random) -> None:
    await memory.ingest(ANA, [dice.choice(FORMER)])
    await memory.admin.refile_space(ANA)


async def maintain(memory: Memory, *_: object) -> None:
    if (await memory.changes(ANA)).rev:
        await memory.admin.maintain(ANA)


async def change_one(memory: Memory, _: FixedClock, dice: Random) -> None:
    if known := sorted(await listed(memory, None)):
        call = dice.choice([memory.forget, memory.restore, memory.pin, memory.admin.erase])
        await call(ANA, dice.choice(known))


ACTS: tuple[Act, ...] = (
    lambda memory, _, dice: memory.remember(ANA, f"I keep {dice.randint(2, 900)} bees"),
    lambda memory, clock, dice: memory.learn(
        ANA, said(f"I live in {dice.choice(PLACES)}. I love {dice.choice(PLACES)}.", at=clock.now())
    ),
    lambda memory, _, dice: memory.keep_candidates(
        ANA, [note(f"Saw {dice.choice(PLACES)} for {dice.randint(2, 900)} days")]
    ),
    lambda memory, _, dice: memory.load(
        ANA, [{"text": f"The user rows to {dice.choice(PLACES)}", "category": "activity"}]
    ),
    lambda memory, _, dice: memory.relate(ANA, "Wayfinder", "runs on", dice.choice(PLACES), single=True),
    *(correct, consolidate, undo, refile, maintain),
    *[change_one] * 6,
)


@pytest.mark.parametrize("seed", range(6))
async def test_all_pages_make_what_a_list_has(database_url: str, seed: int) -> None:
    """After each of many writes a copy that follows is the list of now, and in the end a new copy is at each revision
    the list of then, for the owner and for agents of fewer categories."""
    dice, clock = Random(seed), FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        followers = [Follower(agent, dice) for agent in AGENTS]
        for _ in range(STEPS):
            clock.advance(dice.randint(1, 3 * DAY))
            with suppress(BadInput):  # as of a pin on what is forgotten, and of a fact that is known already
                await dice.choice(ACTS)(memory, clock, dice)
            for follower in followers:
                if dice.random() < 0.6:
                    await follower.catch_up(memory)
                    assert drop_links(follower.copy) == drop_links(await listed(memory, follower.agent))
        for agent in AGENTS:
            page = await memory.changes(ANA, 0, 1_000, agent=agent)
            assert page.next == page.rev
            copy: Copy = {}
            entries = {entry.rev: entry for entry in page.entries}
            for rev in map(Revision, range(1, page.rev + 1)):
                apply(copy, [entries[rev]] if rev in entries else [])
                assert copy == await listed(memory, agent, rev), rev


async def test_what_was_erased_is_an_id(database_url: str) -> None:
    """No line has a word of an erased memory, neither those before the erasure nor its own; a forgotten one is there
    in its state."""
    async with engine(database_url) as memory:
        gone = (await memory.remember(ANA, "I keep canaries in Zanzibar")).changes[0].after.id
        kept = (await memory.remember(ANA, "I row on Sundays")).changes[0].after.id
        await memory.forget(ANA, kept)
        await memory.admin.erase(ANA, gone)
        page = await memory.changes(ANA)
        assert [entry.memory_id for entry in page.entries if entry.memory is None] == [gone, gone]
        assert [entry.memory.state for entry in page.entries if entry.memory] == ["active", "soft_deleted"]
        assert "anar" not in repr(page)
        assert "Zanzibar" not in repr(page)


async def test_a_memory_that_leaves_an_agents_categories(database_url: str) -> None:
    """The agent learns by its id that it is gone, and nothing of what it is elsewhere; of others it learns nothing."""
    async with engine(database_url) as memory:
        await memory.ingest(ANA, FORMER)
        allowed = memory.engine.recall.make_reader(ANA, "stylist").allowed
        follower = Follower("stylist", Random(1))
        await follower.catch_up(memory)
        assert follower.copy == await listed(memory, "stylist") != {}
        await memory.admin.refile_space(ANA)
        page = await memory.changes(ANA, follower.since, agent="stylist")
        left = [entry for entry in page.entries if entry.memory is None]
        assert {entry.memory_id for entry in left} == follower.copy.keys() - (await listed(memory, "stylist")).keys()
        assert all(entry.memory.category in allowed for entry in page.entries if entry.memory)


async def test_a_page_that_cannot_be(database_url: str) -> None:
    """A revision that is not reached, as after the erasure of the space, is an error; an empty space has no page."""
    async with engine(database_url) as memory:
        empty = await memory.changes(ANA)
        assert (empty.entries, empty.next, empty.rev, empty.founded_at) == ((), 0, 0, None)
        await memory.remember(ANA, "I keep bees")
        first = await memory.changes(ANA)
        assert first.founded_at == NOON
        for since, limit in ((-1, 10), (True, 10), (0, 0), (0, 1_001), (first.rev + 1, 10)):
            with pytest.raises(BadInput):
                await memory.changes(ANA, since, limit)
        with pytest.raises(BadConfig):
            await memory.changes(ANA, agent="nobody")
        assert (await memory.changes(ANA, first.rev)).entries == ()
        await memory.admin.erase_space(ANA)
        with pytest.raises(BadInput, match="begins again at 0"):
            await memory.changes(ANA, first.rev)
