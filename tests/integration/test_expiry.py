"""Memories with an end: from then on no answer has them; the maintenance forgets them, and a person can bring them
back."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.query import ListRequest, Query
from muniment.memory.errors import BadInput
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, note, said, scope, statement

HOUR = timedelta(hours=1)
END = NOON + HOUR
TEXT = "The VPN is down."


def move(clock: FixedClock, moment: datetime) -> None:
    clock.advance((moment - clock.now()).total_seconds())


async def keep(memory: Memory, text: str = TEXT) -> StoredMemory:
    [change] = (await memory.keep_candidates(scope(), [note(text, expires_at=END)])).changes
    return change.after


async def found(memory: Memory, **more: object) -> list[str]:
    answer = await memory.query(scope(), "supervisor", Query(text="VPN", **more))  # type: ignore[arg-type]
    return [hit.memory.text for hit in answer.hits]


async def test_no_answer_has_it_from_then_on(database_url: str) -> None:
    """By the clock of the query: query, context, list and related; by its id it can still be read."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        one = await keep(memory)
        lasting = statement("Answers are short.", "profile", expires_at=END)
        await memory.keep_candidates(scope(), [lasting])
        for moment, is_there in ((NOON, True), (END - timedelta(seconds=1), True), (END, False), (END + HOUR, False)):
            move(clock, moment)
            assert await found(memory) == [TEXT] * is_there
            brief = await memory.brief(scope(thread=f"{moment}"), "supervisor", "What about the VPN?")
            assert (TEXT in brief.moving, "Answers are short" in brief.stable) == (is_there, is_there)
            assert ("Answers are short" in brief.header) == is_there
            assert (len(await memory.list(scope())) == 2) == is_there
            assert (await memory.list_page(scope(), ListRequest(everywhere=True))).total == 2
            verdict = await memory.why_not(scope(), "supervisor", one.id, Query(text="VPN"))
            assert verdict.reason == ("in the answer" if is_there else "expired")
            assert (await memory.get(scope(), one.id)).expires_at == END


async def test_it_is_forgotten_by_the_maintenance_and_comes_back_for_good(database_url: str) -> None:
    """The journal says why, also where nothing else is forgotten; what is restored has no end any more."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        one = await keep(memory)
        await memory.pin(scope(), one.id)
        assert (await memory.admin.maintain(scope())).forgotten == 0
        assert (await memory.read_status(scope()))["tended_next"] == END.isoformat()
        move(clock, END)
        assert (await memory.admin.maintain(scope())).forgotten == 1
        line = (await memory.history(scope(), one.id))[0]
        assert (line.action, line.meta) == ("TTL", {"why": "expired"})
        [gone] = await memory.list(scope(), states=["soft_deleted"])
        assert gone.id == one.id
        await memory.restore(scope(), one.id)
        assert await found(memory) == [TEXT]
        assert (await memory.get(scope(), one.id)).expires_at is None
        assert (await memory.admin.maintain(scope())).forgotten == 0


async def test_what_is_restored_before_its_end_keeps_it(database_url: str) -> None:
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        one = await keep(memory)
        await memory.forget(scope(), one.id)
        await memory.restore(scope(), one.id)
        assert (await memory.get(scope(), one.id)).expires_at == END
        move(clock, END)
        assert await found(memory) == []


async def test_answers_of_then_have_it(database_url: str) -> None:
    """As of a revision and a time before its end; not as of the last revision, which is now."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        one = await keep(memory)
        move(clock, NOON + HOUR / 2)
        await memory.keep_candidates(scope(), [note("Something else.")])
        move(clock, END + HOUR)
        assert await found(memory, as_of=one.rev) == [TEXT]
        assert await found(memory, as_of=NOON + timedelta(minutes=1)) == [TEXT]
        assert await found(memory) == await found(memory, as_of=Revision(one.rev + 1)) == []
        assert (await memory.list_page(scope(), ListRequest(), as_of=one.rev)).total == 1


async def test_who_says_it_again_says_how_long(database_url: str) -> None:
    """Without an end it lasts, with another one it lasts until then, also when it was over already."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await memory.remember(scope(), "I am allergic to peanuts", expires_at=END)
        await memory.remember(scope(), "I am allergic to peanuts", expires_at=END + HOUR)
        [one] = await memory.list(scope())
        assert one.expires_at == END + HOUR
        move(clock, END + 2 * HOUR)
        assert await memory.list(scope()) == []
        await memory.learn(scope(), said("I am allergic to peanuts.", at=clock.now()))
        [again] = await memory.list(scope())
        assert (again.id, again.expires_at) == (one.id, None)


async def test_an_end_that_is_over_is_refused(database_url: str) -> None:
    async with engine(database_url) as memory:
        with pytest.raises(BadInput, match="is over already"):
            await memory.remember(scope(), "I live in Lisbon", expires_at=NOON)


async def test_it_comes_with_rows_and_exports(database_url: str) -> None:
    """Of a file, of an ingest, and back from an export; a space that has one is looked at."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await memory.load(scope(), [{"text": TEXT, "expires_at": END.isoformat()}])
        await memory.ingest(scope("b"), [note(TEXT, expires_at=END)])
        await memory.load(scope("c"), await memory.export(scope()))
        for owner in ("ana", "b", "c"):
            assert [one.expires_at for one in await memory.list(scope(owner))] == [END]
        move(clock, END)
        for owner in ("ana", "b", "c"):
            assert (await memory.query(scope(owner), "supervisor", Query(text="VPN"))).hits == ()


async def test_of_two_that_a_night_makes_one_the_later_end_counts(database_url: str) -> None:
    """And one without an end lasts."""
    async with engine(database_url) as memory:
        await memory.ingest(scope(), [note(TEXT, expires_at=END), note(TEXT, expires_at=END + HOUR)])
        await memory.ingest(scope("b"), [note(TEXT, expires_at=END), note(TEXT)])
        for owner, end in (("ana", END + HOUR), ("b", None)):
            await memory.admin.consolidate(scope(owner))
            assert [one.expires_at for one in await memory.list(scope(owner))] == [end]
