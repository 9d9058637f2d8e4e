"""Episodes on real Postgres: captured when enough was said, merged while young, never twice, at most so many a day."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from muniment.memory.client import Memory
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, said, scope

TRIP = ("What about renting a car in Spain?", "Which roads should I take to Granada?", "Thanks!")
RENTED = ("We decided to rent a small car in Spain.", "Hm.", "Fine.")
MEAL = ("What should I eat before the marathon?", "Ok.", "Thanks!")


async def say(
    memory: Memory, clock: FixedClock, texts: Sequence[str], *, minutes: float = 5, who: Scope | None = None
) -> None:
    """These turns in the ledger, `minutes` apart."""
    asks = who or scope()
    for text in texts:
        await memory.conversation.record(asks, [said(text, thread=asks.thread or "", at=clock.now())])
        clock.advance(minutes * 60)


async def kept(memory: Memory) -> list[str]:
    return [one.text for one in await memory.list(scope())]


async def test_an_episode_waits_for_three_turns_and_ten_minutes(database_url: str) -> None:
    """Since the last one of the thread, and of the turns that no episode tells of."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await say(memory, clock, TRIP[:2], minutes=10)
        assert (await memory.conversation.capture(scope())).skipped
        await say(memory, clock, TRIP[2:], minutes=0)
        receipt = await memory.conversation.capture(scope())
        assert [change.action for change in receipt.changes] == ["ADD"]
        assert await kept(memory) == [
            "On 2026-05-04 the user asked about renting a car in Spain and asked which roads to take to Granada"
        ]
        await say(memory, clock, MEAL, minutes=3)
        assert (await memory.conversation.capture(scope())).skipped
        clock.advance(60)
        assert len((await memory.conversation.capture(scope())).changes) == 1
        assert (await memory.conversation.capture(scope())).skipped
        assert len(await kept(memory)) == 2


async def test_what_is_no_news_is_not_kept(database_url: str) -> None:
    """Facts and greetings leave the space at its revision; without a thread nothing has happened."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await say(memory, clock, ("I live in Lisbon.", "Hello!", "Thanks!"))
        receipt = await memory.conversation.capture(scope())
        assert (receipt.rev, receipt.skipped) == (0, "nothing to tell")
        assert (await memory.conversation.capture(Scope(owner="ana"))).skipped


async def test_a_topic_is_taken_up_within_two_days(database_url: str) -> None:
    """The same episode then has two sentences, also from another thread; later it is a new one."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await say(memory, clock, TRIP)
        first = (await memory.conversation.capture(scope())).changes[0].after
        clock.advance(40 * 3600)
        await say(memory, clock, RENTED, who=scope(thread="B"))
        (change,) = (await memory.conversation.capture(scope(thread="B"))).changes
        assert (change.action, change.after.id) == ("MERGE", first.id)
        assert change.after.text.endswith(". On 2026-05-06 the user decided to rent a small car in Spain")
        assert len(change.after.turns) == 6
        assert (await memory.conversation.capture(scope(thread="B"))).skipped
        clock.advance(49 * 3600)
        await say(memory, clock, RENTED, who=scope(thread="C"))
        assert [one.action for one in (await memory.conversation.capture(scope(thread="C"))).changes] == ["ADD"]
        done = [
            (one.day.day, one.op)
            for one in (await memory.admin.read_activity(scope(), 9)).counts
            if one.node == "episodic"
        ]
        assert done == [(8, "create"), (6, "merge"), (4, "create")]


async def test_five_a_day(database_url: str) -> None:
    """The sixth thread of a day has no episode; the next day, which begins at midnight (UTC), it has one."""
    clock = FixedClock(NOON)
    topics = ("kayaks", "violins", "tulips", "glaciers", "mushrooms", "lighthouses")
    async with engine(database_url, clock=clock) as memory:
        for topic in topics:
            who = scope(thread=topic)
            await say(memory, clock, (f"How do I find out more about {topic}?", "Ok.", "Thanks!"), who=who)
            await memory.conversation.capture(who)
        assert len(await kept(memory)) == 5
        midnight = NOON.replace(hour=0) + timedelta(days=1)
        for early, more in ((1, 0), (0, 1)):
            clock.advance((midnight - clock.now()).total_seconds() - early)
            assert len((await memory.conversation.capture(scope(thread=topics[-1]))).changes) == more


async def test_two_at_once_are_one(database_url: str) -> None:
    """Two engines that look at the same moment keep one episode."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as one, engine(database_url, clock=clock) as two:
        await say(one, clock, TRIP)
        await asyncio.gather(one.conversation.capture(scope()), two.conversation.capture(scope()))
        assert len(await kept(one)) == 1


async def test_the_supervisor_finds_what_happened(database_url: str) -> None:
    """By its words; an agent without the category does not."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await say(memory, clock, TRIP)
        await memory.conversation.capture(scope())
        asked = Query(text="renting a car in Spain")
        assert len((await memory.query(scope(thread="B"), "supervisor", asked)).hits) == 1
        assert (await memory.query(scope(thread="B"), "planner", asked)).hits == ()
