"""Hosts whose clocks differ: what is said later, in the order of the journal, puts right what was said before it."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from pydantic import SecretStr

from muniment.memory.client import Memory
from muniment.memory.domain.consolidation import Finding
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.testing.fakes import FixedClock
from muniment.testing.openai_server import ScriptedOpenAI
from tests.answers import fact
from tests.engine import NOON, engine, note, said, scope

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


def ask(database_url: str, at: datetime, server: ScriptedOpenAI) -> AbstractAsyncContextManager[Memory]:
    """A memory with a model, on a host whose clock shows this time."""
    model = OpenAIChat("tiny", api_key=SecretStr("k"), base_url=server.base_url, timeout_seconds=5, max_retries=0)
    return engine(database_url, clock=FixedClock(at), model=model)


@pytest.mark.parametrize("ahead", [-AHEAD[0], *AHEAD])
@pytest.mark.parametrize("is_first", [True, False])
async def test_a_model_reads_turns_in_their_order(database_url: str, ahead: timedelta, is_first: bool) -> None:
    """Two hosts record a turn each, and a third one reads one of them afterwards: what was said last holds, whichever
    is read last and whatever the clocks show."""
    homes = ("Porto", "Lisbon")
    read, heard = homes if is_first else homes[::-1]
    turns = {}
    for city, at in zip(homes, (NOON + ahead, NOON), strict=True):
        turns[city] = turn = said(f"I live in {city}", thread=city, at=at)
        async with engine(database_url, clock=FixedClock(at)) as memory:
            if city == heard:
                await memory.learn(scope(), turn)
            await memory.conversation.record(scope(), [turn])
    home = fact(f"The user lives in {read}", kind="location", predicate="lives_in", object=read, category="profile")
    with ScriptedOpenAI(json.dumps({"facts": [home]})) as server:
        async with ask(database_url, NOON, server) as memory:
            await memory.jobs.extract(scope(), turns[read].id)
    assert await known(database_url) == {"The user lives in Lisbon"}


@pytest.mark.parametrize("ahead", [-AHEAD[0], *AHEAD])
async def test_consolidation_follows_the_order_of_the_turns(database_url: str, ahead: timedelta) -> None:
    """What the second host heard supersedes what the first one heard, also where the first one's clock was ahead."""
    told = ("The user parks the old car behind the harbour wall", "The user parks the old car behind the station now")
    for text, at in zip(told, (NOON + ahead, NOON), strict=True):
        async with engine(database_url, clock=FixedClock(at)) as memory:
            turn = said(text, thread=text, at=at)
            await memory.conversation.record(scope(), [turn])
            await memory.ingest(scope(), [replace(note(text), turns=(turn.id,))])
    found: list[Finding] = []
    verdict = {"pairs": [{"pair": 1, "verdict": "supersedes"}]}
    with ScriptedOpenAI(json.dumps(verdict)) as server:
        async with ask(database_url, NOON, server) as memory:
            await memory.admin.consolidate(scope(), on_findings=found.extend)
            assert [(one.pair.older.text, one.pair.newer.text) for one in found] == [told]
            assert {one.text for one in await memory.list(scope())} == {told[1]}
