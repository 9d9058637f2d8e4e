"""Hosts whose clocks differ: what is said later, in the order of the journal, puts right what was said before it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from muniment.memory.client import Memory
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, said, scope

AHEAD = [timedelta(minutes=5), timedelta(days=365)]


async def tell(database_url: str, text: str, at: datetime) -> Memory:
    """Say something to a host whose clock shows this time."""
    async with engine(database_url, clock=FixedClock(at)) as memory:
        await memory.learn(scope(), said(text, at=at))
        return memory


async def known(database_url: str, at: datetime = NOON) -> set[str]:
    async with engine(database_url, clock=FixedClock(at)) as memory:
        return {one.text for one in await memory.list(scope())}


@pytest.mark.parametrize("ahead", AHEAD)
@pytest.mark.parametrize(
    ("before", "after", "stays"),
    [
        ("I live in Porto", "I live in Lisbon", "The user lives in Lisbon"),
        ("My meeting is on the 18th", "My meeting is on the 19th", "The user's meeting is on the 19th."),
        ("I have a red bike and I ride it to work", "I sold the red bike", "The user sold the red bike."),
    ],
)
async def test_the_later_statement_holds(
    database_url: str, ahead: timedelta, before: str, after: str, stays: str
) -> None:
    """The first host's clock is ahead of the second one's."""
    await tell(database_url, before, NOON + ahead)
    await tell(database_url, after, NOON)
    assert await known(database_url) == {stays}


@pytest.mark.parametrize("ahead", AHEAD)
async def test_each_host_corrects_the_other(database_url: str, ahead: timedelta) -> None:
    """By turns, as often as they like; what is known then has the time of the host that said it."""
    for n, place in enumerate(("Porto", "Lisbon", "Faro", "Braga")):
        at = NOON + timedelta(minutes=n) + (ahead if n % 2 == 0 else timedelta())
        await tell(database_url, f"I live in {place}", at)
        assert await known(database_url) == {f"The user lives in {place}"}
    async with engine(database_url, clock=FixedClock(NOON)) as memory:
        [home] = await memory.list(scope())
        assert home.updated_at == NOON + timedelta(minutes=3)
        assert [line.action for line in await memory.history(scope(), home.id)] == ["UPDATE"] * 3 + ["ADD"]


async def test_a_turn_of_a_history_puts_nothing_right(database_url: str) -> None:
    """A turn that is brought later than it was said does not correct what was said since."""
    await tell(database_url, "I live in Lisbon", NOON)
    async with engine(database_url, clock=FixedClock(NOON + timedelta(hours=1))) as memory:
        receipt = await memory.learn(scope(), said("I live in Porto", at=NOON - timedelta(days=2)))
        assert receipt.refused == ("said before what is known now",)
    assert await known(database_url) == {"The user lives in Lisbon"}


async def test_a_row_with_a_time_is_of_that_time(database_url: str) -> None:
    """Also where a clock was ahead: an event time decides where a statement has one."""
    await tell(database_url, "I live in Lisbon", NOON + timedelta(minutes=5))
    async with engine(database_url, clock=FixedClock(NOON)) as memory:
        await memory.load(scope(), [{"text": "User lives in Porto", "event_time": "2020-05-01"}])
        assert {one.text for one in await memory.list(scope())} == {"The user lives in Lisbon"}
        await memory.load(scope(), [{"text": "User lives in Faro"}])
        assert {one.text for one in await memory.list(scope())} == {"The user lives in Faro"}
