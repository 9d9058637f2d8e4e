"""A space while nobody looks: what is forgotten, purged and cleaned, what was retrieved, and what is lost by none of
it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.query import Query
from muniment.memory.errors import Conflict, ModelUnavailable, NotFound
from muniment.memory.flows.background import maintenance
from muniment.testing.fakes import FixedClock, ScriptedChat
from tests.engine import NOON, engine, note, said, scope, settings

DAY = 86_400
DAYS = timedelta(days=1)
WHO = scope()


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOON)


@pytest.fixture
async def memory(database_url: str, clock: FixedClock) -> AsyncIterator[Memory]:
    async with engine(database_url, clock=clock) as opened:
        yield opened


def ask(url: str, query: str, *values: Any) -> list[Any]:
    with psycopg.connect(url, autocommit=True) as conn:
        cursor = conn.execute(query, values)
        return cursor.fetchall() if cursor.description else []


async def kept(memory: Memory, *texts: str, **more: Any) -> list[MemoryId]:
    """These notes as memories, in order."""
    found = []
    for text in texts:
        receipt = await memory.keep_candidates(WHO, [note(text, **more)])
        found.append(receipt.changes[0].after.id)
    return found


async def state(memory: Memory, id_: MemoryId) -> str:
    return (await memory.get(WHO, id_)).state


async def test_forgotten_restored_and_purged_later(memory: Memory, clock: FixedClock, database_url: str) -> None:
    """What nobody needs leaves every answer, is told of once, comes back when restored, and is not forgotten again."""
    dull, dear, needed = await kept(
        memory,
        "The kiosk sells blue umbrellas",
        "The harbour café closes on Mondays",
        "The tram to the kiosk is line 7",
    )
    await memory.pin(WHO, dear)
    await memory.conversation.mark_seen(WHO, (await memory.brief(WHO, "supervisor", "Hello")).rev)
    clock.advance(59 * DAY)
    assert (await memory.admin.maintain(WHO)).forgotten == 0
    asked = Query(text="tram line to the kiosk", top_k=1)
    assert [hit.memory.id for hit in (await memory.query(WHO, "supervisor", asked)).hits] == [needed]
    clock.advance(DAY)
    assert (await memory.admin.maintain(WHO)).forgotten == 1
    assert [await state(memory, one) for one in (dull, dear, needed)] == ["soft_deleted", "active", "active"]
    gone = await memory.get(WHO, dull)
    assert gone.purge_at == clock.now() + 30 * DAYS
    (line, *_) = await memory.history(WHO, dull)
    assert (line.action, line.node, line.meta) == ("TTL", "worker", {"why": "untouched", "days": 60})
    assert ask(database_url, "select event from muniment.change_log where rev = %s", line.rev) == [("soft_deleted",)]

    brief = await memory.brief(WHO, "supervisor", "Where are blue umbrellas sold at a kiosk?")
    assert "soft_deleted: [Activity] The kiosk sells blue umbrellas" in brief.header
    assert not any("umbrellas" in bullet for bullet in brief.bullets)
    await memory.conversation.mark_seen(WHO, brief.rev)
    assert (await memory.brief(WHO, "supervisor", "Hello")).header == ""

    await memory.restore(WHO, dull)
    assert (await memory.admin.maintain(WHO)).forgotten == 0
    assert await state(memory, dull) == "active"
    clock.advance(60 * DAY)
    assert (await memory.admin.maintain(WHO)).forgotten == 2
    clock.advance(30 * DAY - 1)
    assert (await memory.admin.maintain(WHO)).purged == 0
    clock.advance(1)
    assert (await memory.admin.maintain(WHO)).purged == 2
    tables = ("memories", "memory_versions")
    left = [ask(database_url, f"select distinct memory_id from muniment.{table}") for table in tables]
    assert left == [[(dear,)], [(dear,)]]
    assert standing(database_url)[:2] == (10, 10)  # 3 made, pinned, 3 forgotten, restored, 2 purged


async def test_in_batches(memory: Memory, clock: FixedClock, database_url: str, monkeypatch: Any) -> None:
    """More than fits one plan goes in several, each memory once."""
    monkeypatch.setattr(maintenance, "_BATCH", 3)
    await kept(
        memory, *(f"The {one} drawer" for one in ("red", "green", "blue", "grey", "white", "brown", "small", "long"))
    )
    clock.advance(90 * DAY)
    assert (await memory.admin.maintain(WHO)).forgotten == 8
    assert ask(
        database_url, "select count(*), count(distinct memory_id) from muniment.journal where action = 'TTL'"
    ) == [(8, 8)]


async def test_what_only_the_database_calls_due_is_left(memory: Memory, clock: FixedClock, monkeypatch: Any) -> None:
    """A rule that is not of one mind with the statement ends the search, and does not begin it again for ever."""
    (dull,) = await kept(memory, "The kiosk sells blue umbrellas")
    clock.advance(90 * DAY)
    with monkeypatch.context() as patch:
        patch.setattr("muniment.memory.rules.policy.retention.is_forgettable", lambda *_: False)
        assert (await asyncio.wait_for(memory.admin.maintain(WHO), 10)).forgotten == 0
    assert await state(memory, dull) == "active"
    assert (await memory.admin.maintain(WHO)).forgotten == 1


async def test_what_is_touched_meanwhile_stays(memory: Memory, clock: FixedClock) -> None:
    """A change, or a retrieval alone, between the look and the plan: nothing is forgotten by what was seen before."""
    one, other = await kept(memory, "The attic has a red trunk", "The cellar has a green door")
    clock.advance(60 * DAY)
    house, store = memory.engine, memory.engine.store
    due = await store.maintenance.find_due(WHO, clock.now(), house.retention, 10)
    assert due
    assert {found.id for found in due.forget} == {one, other}
    await store.writes.record_access(WHO, {one: 1}, clock.now())
    with pytest.raises(Conflict):
        await house.maintenance_flow._forget_due(WHO, due, clock.now())
    assert await state(memory, other) == "active"
    due = await store.maintenance.find_due(WHO, clock.now(), house.retention, 10)
    assert due
    await memory.pin(WHO, other)
    with pytest.raises(Conflict):
        await house.maintenance_flow._forget_due(WHO, due, clock.now())
    assert (await memory.admin.maintain(WHO)).forgotten == 0


async def test_no_such_space(memory: Memory) -> None:
    """A space that is gone is none to tend: its job is dropped."""
    with pytest.raises(NotFound):
        await memory.jobs.perform_job(Job(name="tend", scope=scope("nobody")))


def standing(url: str) -> tuple[int, int, datetime | None]:
    ((rev, tended, again),) = ask(url, "select rev, tended_rev, tend_at from muniment.spaces")
    return rev, tended, again


async def test_what_tending_changes_is_tended(memory: Memory, clock: FixedClock, database_url: str) -> None:
    """Its own changes make nothing due; the first of anybody else's does, also one that came while it was at work."""
    (first,) = await kept(memory, "The gate creaks in the wind")
    clock.advance(60 * DAY)
    await memory.admin.maintain(WHO)
    rev, tended, again = standing(database_url)
    assert rev == tended == 2
    assert again == clock.now() + 30 * DAYS  # the purge

    house, store = memory.engine, memory.engine.store
    due = await store.maintenance.find_due(WHO, clock.now(), house.retention, 10)
    assert due
    await memory.restore(WHO, first)
    await kept(memory, "The bell rings at noon")
    clock.advance(60 * DAY)
    assert (await memory.admin.maintain(WHO)).forgotten == 2
    rev, *_ = standing(database_url)
    await store.maintenance.record_maintenance(WHO, due.rev, clock.now(), None, house.retention)
    assert standing(database_url)[1] == due.rev < rev
    await store.maintenance.record_maintenance(WHO, None, clock.now(), None, house.retention)
    assert standing(database_url)[1] == due.rev


async def test_what_is_consolidated_is_tended(memory: Memory, database_url: str) -> None:
    """Two that say the same are one in the morning, and the space is not due because of that."""
    await memory.ingest(WHO, [note("The green door is locked at night"), note("The green door is locked at night.")])
    done = await memory.admin.maintain(WHO)
    assert done.run
    assert (done.run.status, done.run.same) == ("done", 1)
    rev, tended, _ = standing(database_url)
    assert rev == tended > 2
    assert (await memory.admin.maintain(WHO)).run is None


async def test_a_run_that_may_be_dead_is_waited_for(memory: Memory, database_url: str) -> None:
    """While another run has its lease the job is tried again, and not done for the day; then the space is tended."""
    await memory.ingest(WHO, [note("The green door is locked at night"), note("The green door is locked at night.")])
    assert await memory.admin.begin_run(WHO)
    with pytest.raises(Conflict):
        await memory.admin.maintain(WHO)
    with psycopg.connect(database_url) as admin:
        admin.execute("update muniment.consolidation_runs set leased_until = now() - interval '1 second'")
    done = await memory.admin.maintain(WHO)
    assert done.run
    assert done.run.same == 1


async def test_old_records_go(memory: Memory, clock: FixedClock, database_url: str) -> None:
    """What was noted of pairs goes when they may be checked again, and so do records of runs that changed nothing."""
    counted = (
        "select (select count(*) from muniment.pair_fingerprints), array_agg(same order by started_at) from "
        "muniment.consolidation_runs"
    )
    for text in ("locked at night", "locked at night.", "painted in May", "opened by Mara"):
        await memory.ingest(WHO, [note(f"The green door is {text}")])
        await memory.admin.maintain(WHO)
        clock.advance(DAY)
    assert ask(database_url, counted)[0][1] == [0, 1, 0, 0]
    assert ask(database_url, counted)[0][0] > 0
    clock.advance(100 * DAY)
    await memory.admin.maintain(WHO)
    assert ask(database_url, counted) == [(0, [1, 0])]


async def test_a_day_that_was_too_short(memory: Memory, clock: FixedClock, database_url: str) -> None:
    """Where the day's pairs did not suffice the space stays due, and the next night goes on."""
    told = memory.engine.settings.consolidation.model_copy(update={"per_day": 1})
    memory.engine = memory.engine.rebuild(settings=memory.engine.settings.model_copy(update={"consolidation": told}))
    texts = [f"The green door is locked {when}" for when in ("at night", "by day")]
    await memory.ingest(WHO, [note(one + end) for one in texts for end in ("", ".")])
    nights = 0
    while True:
        done = await memory.admin.maintain(WHO)
        nights += 1
        rev, tended, _ = standing(database_url)
        if rev == tended:
            break
        assert done.run
        assert done.run.checked == 1
        assert nights < 10
        clock.advance(DAY)
    assert nights > 1


async def test_the_ledger_is_kept_for_days(memory: Memory, clock: FixedClock, database_url: str) -> None:
    """Old turns go, and much later events and looks; every memory stays, with the session and the turns it names."""
    (text,) = ("I want to learn sailing.",)
    turn = said(text, key="1")
    await memory.conversation.record(WHO, [turn])
    learnt = await memory.learn(WHO, turn)
    await memory.conversation.flush(WHO)
    before = await memory.get(WHO, learnt.changes[0].after.id)
    await memory.admin.maintain(WHO)
    assert standing(database_url)[2] == NOON + 14 * DAYS
    clock.advance(14 * DAY)
    assert (await memory.admin.maintain(WHO)).turns == 0
    clock.advance(1)
    assert (await memory.admin.maintain(WHO)).turns == 1
    assert ask(database_url, "select count(*) from muniment.turns") == [(0,)]
    assert await memory.get(WHO, before.id) == before
    assert before.session_id == "A"
    assert before.turns == (turn.id,)
    assert ask(database_url, "select count(*) > 0 from muniment.events") == [(True,)]
    clock.advance(76 * DAY)
    await memory.admin.maintain(WHO)
    assert ask(
        database_url, "select (select count(*) from muniment.events), (select count(*) from muniment.extractions)"
    ) == [(0, 0)]
    again = await memory.learn(WHO, turn)  # nobody knows any more that this was heard
    assert not again.replayed


async def test_a_look_stays_as_long_as_its_turn(memory: Memory, database_url: str) -> None:
    """However few days looks are kept: a turn that is still there must not be looked at, and paid for, once more."""
    turn, store = said("I want to learn sailing."), memory.engine.store
    await memory.learn(WHO, turn)
    looks = "select count(*) from muniment.extractions"
    others = {"events_before": NOON + DAYS, "checked_before": NOON}
    assert await store.maintenance.delete_expired(WHO, NOON, turns_before=NOON, **others) == 0
    assert ask(database_url, looks) == [(1,)]
    assert await store.maintenance.delete_expired(WHO, NOON, turns_before=NOON + DAYS, **others) == 1
    assert ask(database_url, looks) == [(0,)]


async def test_a_turn_that_waits_to_be_built_from_stays(database_url: str, clock: FixedClock) -> None:
    """However old it is, while the model is away or a job runs; the space is looked at again the next day."""
    away = ModelUnavailable("away")
    tuned = settings(database_url)
    tuned = tuned.model_copy(update={"model": tuned.model.model_copy(update={"max_retries": 0})})
    chat = ScriptedChat([away, away, '{"facts": []}'])
    async with engine(database_url, clock=clock, tuned=tuned, model=chat) as memory:
        store = memory.engine.store
        number = await store.jobs.register_worker()
        await store.jobs.enqueue_jobs([Job(name="build", scope=WHO, key="held")])
        ticket = await store.jobs.take_job(number, ["build"])
        assert ticket
        wanted, held, other = said("I like tea."), said("Hello!", thread="held"), said("Hello!", thread="other")
        await memory.conversation.record(WHO, [wanted, held, other])
        clock.advance(20 * DAY)
        for left in ({wanted.id, held.id}, {wanted.id}, set[TurnId]()):
            assert (await memory.admin.maintain(WHO)).turns == 1
            assert {TurnId(one) for (one,) in ask(database_url, "select turn_id from muniment.turns")} == left
            assert not left or standing(database_url)[2] == clock.now() + DAYS
            await store.jobs.finish_job(ticket)
        assert len(chat.calls) == 3


async def test_what_is_said_later_is_cleaned_too(memory: Memory, clock: FixedClock, database_url: str) -> None:
    """A turn that changes nothing makes its space due in time, also one whose memories are never due."""
    (one,) = await kept(memory, "The lamp is brass")
    await memory.pin(WHO, one)
    clock.advance(91 * DAY)
    await memory.conversation.flush(WHO)
    await memory.admin.maintain(WHO)
    assert standing(database_url)[2] is None
    await memory.conversation.record(WHO, [said("Hello!", at=clock.now())])
    assert standing(database_url)[2] == clock.now() + 14 * DAYS
    await memory.conversation.record(WHO, [said("Hello?", at=clock.now() - DAYS), said("Bye!", at=clock.now())])
    assert standing(database_url)[2] == clock.now() + 13 * DAYS
    await memory.query(WHO, "supervisor", Query(text="anything"))
    await memory.conversation.flush(WHO)
    assert standing(database_url)[2] == clock.now() + 13 * DAYS


async def test_a_turn_is_not_missed_that_is_being_recorded(
    memory: Memory, clock: FixedClock, database_url: str
) -> None:
    """Who notes when the space is due waits for the turn that is on its way in."""
    (one,) = await kept(memory, "The lamp is brass")
    await memory.pin(WHO, one)
    store, own = memory.engine.store, memory.engine.retention
    ask(database_url, "update muniment.spaces set tend_at = %s", NOON)
    async with await psycopg.AsyncConnection.connect(database_url) as writer:
        await writer.execute(
            """insert into muniment.turns (space_id, turn_id, session_id, role, text, at, source, tags, recalled)
               values (%s, gen_random_uuid(), 'A', 'user', 'Hello!', %s, 'user', '{}', '{}')""",
            (WHO.space, NOON),
        )
        noting = asyncio.create_task(store.maintenance.record_maintenance(WHO, Revision(2), NOON, None, own))
        done, _ = await asyncio.wait([noting], timeout=0.2)
        assert not done
        await writer.commit()
        await noting
    assert standing(database_url)[2] == NOON + 14 * DAYS


async def test_the_status_says_when(memory: Memory, clock: FixedClock) -> None:
    """When the space was tended, and when it will be: at once, by its changes, by what is due, or never."""

    async def told() -> list[str | None]:
        status = await memory.read_status(WHO)
        return [status["tended"], status["tended_next"]]

    assert await told() == [None, None]
    (one,) = await kept(memory, "The lamp is brass")
    assert await told() == [None, NOON.isoformat()]
    await memory.admin.maintain(WHO)
    assert await told() == [NOON.isoformat(), (NOON + 60 * DAYS).isoformat()]
    await memory.pin(WHO, one)
    assert await told() == [NOON.isoformat(), (NOON + DAYS).isoformat()]
    clock.advance(91 * DAY)
    await memory.admin.maintain(WHO)
    assert await told() == [clock.now().isoformat(), None]
