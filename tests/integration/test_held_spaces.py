"""A space that is written often is held by its process: its neighbours are those of the database, and never older."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from muniment.memory.admin import Admin
from muniment.memory.client import Memory
from muniment.memory.domain.memory import Fact
from muniment.memory.domain.search import NeighbourProbe
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import Conflict
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.rules.merging.space_index import SpaceIndex
from tests.engine import Leaving, engine, said, scope
from tests.integration.test_groups import waiting

THINGS = ("tea", "jazz", "chess", "rye bread", "old maps", "swimming", "Porto", "night trains")
SAYINGS = (
    "I like {}", "I love {}", "I don't like {}", "my sister collects {}", "I live in {}", "I no longer like {}",
    "we sold our {} at the market", "actually my sister collects {}", "I have an allergy to {}", "my dog fears {}",
)  # fmt: skip
MOST = 5


def say(number: int) -> str:
    """A statement in words of its own."""
    dice = Random(number)
    return "my uncle " + " ".join("".join(dice.choices("abcdefghijklm", k=8)) for _ in range(4))


def find_index(memory: Memory) -> SpaceIndex | None:
    """What the process of an engine holds of the space."""
    held = memory.engine.cache.held_spaces.get(scope().space)
    return held.index if held else None


@asynccontextmanager
async def holding(url: str, **more: Any) -> AsyncIterator[Memory]:
    """An engine that holds the space, in which it has written ten statements."""
    async with engine(url, **more) as memory:
        for number in range(10):
            await memory.remember(scope(), say(number))
        assert find_index(memory) is not None
        yield memory


def make_fact(dice: Random) -> Fact:
    return Fact(kind="preference", predicate=dice.choice(("likes", "eats")), object=dice.choice(THINGS))


@pytest.mark.parametrize("seed", range(4))
async def test_what_is_held_answers_as_the_database_does(database_url: str, seed: int) -> None:
    """After statements, corrections and facts with keys both list the same memories, equal in each field."""
    dice, embedder = Random(seed), HashEmbedder()
    async with holding(database_url) as memory:
        finder, reads = memory.engine.neighbour_finder, memory.engine.store.reads
        for number in range(40):
            text = dice.choice(SAYINGS).format(dice.choice(THINGS))
            if number % 3:
                await memory.remember(scope(), text)
            else:
                fact = make_fact(dice)
                kept = Candidate(
                    text=f"The user {fact.predicate} {fact.object} {number}",
                    category="preferences",
                    fact=fact,
                    turns=(said(text).id,),
                )
                await memory.keep_candidates(scope(), [kept])
            [vector] = await embedder.embed_documents([dice.choice(SAYINGS).format(dice.choice(THINGS))])
            fact = make_fact(dice)
            key, attribute = dice.choice(((None, None), (fact.key, fact.attribute), (None, fact.attribute)))
            probe = NeighbourProbe(vector=vector, kind="semantic", stable_key=key, attribute=attribute)
            assert find_index(memory) is not None
            rev, [near] = await finder.find_neighbours(scope(), [probe], MOST)
            now, [stored] = await reads.find_neighbours(scope(), [probe], MOST)
            assert rev == now
            assert {each.memory.id: each.memory for each in near} == {each.memory.id: each.memory for each in stored}
            assert [each.sim for each in near] == pytest.approx([each.sim for each in stored], abs=1e-3)


async def test_what_another_process_writes_is_seen(database_url: str) -> None:
    """What the other one has written is no duplicate, and what it has forgotten is not known any more."""
    async with holding(database_url) as memory, engine(database_url) as other:
        await other.remember(scope(), "I like tea")
        again = await memory.remember(scope(), "I like tea")
        assert all(change.before for change in again.changes)
        assert [each.text for each in await memory.list(scope())].count("The user likes tea") == 1

    async with holding(database_url) as memory, engine(database_url) as other:
        [tea] = [each for each in await memory.list(scope()) if "tea" in each.text]
        await other.forget(scope(), tea.id)
        receipt = await memory.remember(scope(), "I like tea")
        assert [(change.action, change.before) for change in receipt.changes] == [("ADD", None)]


@pytest.mark.parametrize("writers", [1, 3])
async def test_writers_that_commit_nothing_are_confirmed_first(database_url: str, writers: int) -> None:
    """One writer, or several that wait, say what another process has forgotten since: they add it again."""
    likes = [f"I like {thing}" for thing in THINGS[:writers]]
    async with holding(database_url) as memory, engine(database_url) as other:
        for text in likes:
            await memory.remember(scope(), text)
        for each in await other.list(scope()):
            if any(thing in each.text for thing in THINGS[:writers]):
                await other.forget(scope(), each.id)
        assert find_index(memory) is not None
        async with waiting(memory, scope(), [memory.remember(scope(), text) for text in likes]) as tasks:
            pass
        receipts = await asyncio.gather(*tasks)
        assert [change.action for receipt in receipts for change in receipt.changes] == ["ADD"] * writers


async def test_an_answer_that_commits_nothing_is_confirmed_first(database_url: str) -> None:
    """What is held is confirmed as long as nobody else writes; afterwards it is a Conflict once, and dropped."""
    async with holding(database_url) as memory, engine(database_url) as other:
        finder = memory.engine.neighbour_finder
        await finder.confirm_revision(scope())
        await other.remember(scope(), "I like tea")
        with pytest.raises(Conflict):
            await finder.confirm_revision(scope())
        assert find_index(memory) is None
        await finder.confirm_revision(scope())


async def test_two_processes_in_turns_lose_nothing(database_url: str) -> None:
    """Each writes thirty statements while the other does: all are there once, with revisions without a gap."""
    async with engine(database_url) as one, engine(database_url) as two:

        async def write(memory: Memory, first: int) -> None:
            for number in range(first, first + 30):
                await memory.remember(scope(), say(number))

        await asyncio.gather(write(one, 0), write(two, 100))
        held = [each.text for each in await one.list(scope(), limit=1000)]
        history = await one.history(scope(), limit=1000)
    assert len(held) == len(set(held)) == 60
    assert sorted(entry.rev for entry in history) == list(range(1, len(history) + 1))


async def test_an_erasure_leaves_nothing_held(database_url: str) -> None:
    """After one memory or the space is erased, the process holds nothing of it."""
    async with holding(database_url) as memory:
        admin = Admin(memory.engine)
        [first, *_] = await memory.list(scope())
        await admin.erase(scope(), first.id)
        assert find_index(memory) is None
    async with holding(database_url) as memory:
        await Admin(memory.engine).erase_space(scope())
        assert find_index(memory) is None


async def test_without_the_embedder_the_database_is_asked(database_url: str) -> None:
    """A statement without a vector ends what is held, and is found again once it has one."""
    embedder = Leaving()
    async with holding(database_url, embedder=embedder) as memory:
        embedder.leave()
        receipt = await memory.remember(scope(), "I like tea")
        assert receipt.degraded
        assert find_index(memory) is None
