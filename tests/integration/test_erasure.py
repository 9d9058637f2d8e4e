"""What is erased is in no row any more, nor what says it elsewhere, and the rest goes on."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from uuid import uuid4

import psycopg
import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.memory import STATES, Kind, StoredMemory
from muniment.memory.domain.plan import Change, ExtractionRecord, Relation, WritePlan
from muniment.memory.domain.query import Query
from muniment.memory.domain.turn import Turn
from muniment.memory.domain.usage import OpsEvent
from muniment.memory.errors import Conflict, NotFound
from muniment.memory.models.hash_embedder import hash_vector
from muniment.memory.rules.provenance.quoted import is_repetition
from muniment.memory.stores.postgres.operation import erasure as erasing
from muniment.memory.stores.postgres.schema.large_spaces import build_index_name
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, note, said, scope
from tests.erasing import all_rows, commit, everything, forgotten, kept, rows


async def lived(memory: Memory) -> MemoryId:
    """A space in which a statement left every kind of trace, and others that have nothing to do with it."""
    mine, store = scope(), memory.engine.store
    first = said("I am allergic to walnuts, and I sail on Sundays", thread="A")
    await memory.learn(mine, first)
    reply = Turn.make(
        session="B",
        key="r",
        role="assistant",
        text="Noted. You are allergic to walnuts!",
        at=NOON,
        thread="B",
        recalled=memory.conversation.shingle_hashes("[constraints] User is allergic to walnuts"),
    )
    asked = Turn.make(
        session="C",
        key="q",
        role="user",
        text="What may I eat?",
        at=NOON,
        thread="C",
        recalled=memory.conversation.shingle_hashes("User is allergic to walnuts", "User sails on Sundays"),
    )
    other = said("The piano is tuned in March", thread="D")
    await memory.conversation.record(mine, [reply, asked, other])
    (held,) = [one for one in await memory.list(mine) if "walnut" in one.text]
    tied = replace(note("The user decided to avoid walnuts, being allergic to walnuts"), turns=(other.id,))
    await memory.ingest(mine, [tied, replace(note("Vera teaches there"), context="I am allergic to walnuts")])
    made: tuple[tuple[Kind, str, tuple[TurnId, ...]], ...] = (
        ("insight", "The user plans ahead", (first.id, other.id)),
        ("insight", "The user likes order", (other.id,)),
        ("semantic", "User rows", (first.id, other.id)),
    )
    for kind, text, turns in made:
        one = StoredMemory(
            id=MemoryId(uuid4()), kind=kind, category="goals", text=text, created_at=NOON, updated_at=NOON
        )
        await commit(memory, mine, Change(action="ADD", after=replace(one, turns=turns), vector=hash_vector(text)))
    once = await kept(memory, "User is allergic to walnuts and pears", category="goals")
    was = await memory.get(mine, once)
    now = replace(was, text="User keeps bees")
    await commit(memory, mine, Change(action="UPDATE", before=was, after=now, meta={"why": "supersedes"}))
    with psycopg.connect(memory.engine.settings.database_url.get_secret_value()) as admin:  # type: ignore[union-attr]
        admin.execute("update muniment.extractions set refused = '{allergic to walnuts}'")
    await store.jobs.enqueue_jobs(
        [Job(name="extract", scope=mine, key=str(first.id)), Job(name="extract", scope=mine, key=str(other.id))]
    )
    return held.id


async def test_what_says_it_is_found(database_url: str) -> None:
    """The turns that support or repeat it, the threads in which it was said or recalled, and what was made of it."""
    async with engine(database_url) as memory:
        id_ = await lived(memory)
        found = await memory.admin.find_traces(scope(), id_)
        assert found.threads == {"A", "B", "C"}
        assert len(found.turns) == 3
        assert sorted(one.text for one in found.built_on) == [
            "The user decided to avoid walnuts, being allergic to walnuts",
            "The user plans ahead",
        ]
        assert [one.text for one in found.former] == ["User is allergic to walnuts and pears"]
        assert sorted(one.text for one in found.around if not one.since) == [
            "The user sails on Sundays.",
            "Vera teaches there",
        ]
        assert (await memory.admin.find_traces(scope())).threads == {"A", "B", "C", "D"}
        assert memory.admin.mentions(found, "So you're allergic to walnuts?")
        assert not memory.admin.mentions(found, "Walnuts are nuts.")
        with pytest.raises(NotFound):
            await memory.admin.find_traces(scope("ben"), id_)


async def test_what_was_made_of_it_is_looked_for_too(database_url: str) -> None:
    """The threads that were shown only an insight that goes, or what it said before, and the reply that repeats it; a
    person who says so has said it."""
    async with engine(database_url) as memory:
        id_, mine = await lived(memory), scope()
        (before,) = [one for one in await memory.list(mine) if one.text == "The user plans ahead"]
        now = replace(before, text="Looks far into the future")
        await commit(memory, mine, Change(action="UPDATE", before=before, after=now, vector=hash_vector(now.text)))
        goats = await memory.get(mine, await kept(memory, "The user keeps goats", category="goals"))
        now = replace(goats, text="User is allergic to walnuts and figs")
        await commit(memory, mine, Change(action="UPDATE", before=goats, after=now, vector=hash_vector(now.text)))
        shown = memory.conversation.shingle_hashes("[goals] The user plans ahead")
        echo = Turn.make(
            session="E",
            key="e",
            role="assistant",
            text="You plan ahead, so book now.",
            at=NOON,
            thread="E",
            recalled=shown,
        )
        asked = Turn.make(session="F", key="f", role="user", text="What now?", at=NOON, thread="F", recalled=shown)
        own = replace(said("I plan ahead", thread="G"), recalled=shown)
        late = Turn.make(
            session="H",
            key="h",
            role="user",
            text="And now?",
            at=NOON,
            thread="H",
            recalled=memory.conversation.shingle_hashes("[goals] Looks far into the future"),
        )
        await memory.conversation.record(mine, [echo, asked, own, late])
        found = await memory.admin.find_traces(mine, id_)
        assert found.threads == {"A", "B", "C", "E", "F", "G", "H"}
        assert {echo.id, asked.id, own.id} & set(found.turns) == {echo.id}
        assert {"The user plans ahead", "Looks far into the future", "The user keeps goats"} <= set(found.derived)
        assert memory.admin.mentions(found, "You plan ahead.")
        assert not memory.admin.mentions(found, "The user likes order")
        await memory.admin.erase(mine, id_)
        assert "Looks far" not in everything(database_url, but=())
        with psycopg.connect(database_url) as admin:
            left: dict[str, list[int]] = dict(
                admin.execute("select thread_id, recalled from muniment.turns").fetchall()
            )
        assert "E" not in left
        assert not any(is_repetition("The user plans ahead", left[thread]) for thread in ("F", "G"))


async def test_a_memory_is_erased_with_all_that_says_it(database_url: str) -> None:
    """No table says it any more; what has nothing to do with it stays, without the turns that are gone."""
    async with engine(database_url) as memory:
        id_ = await lived(memory)
        await memory.engine.store.maintenance.index_space(scope(), 1)
        assert "llergic" in everything(database_url, but=())
        erased = set((await memory.admin.find_traces(scope(), id_)).turns)
        done = await memory.admin.erase(scope(), id_)
        assert "llergic" not in everything(database_url, but=())
        assert {one.text for one in await memory.list(scope(), states=STATES)} == {
            "The user likes order", "User rows", "User keeps bees", "Vera teaches there",
        } | {one.text for one in await memory.list(scope()) if "sail" in one.text.lower()}  # fmt: skip
        assert done.counts["memories"] == 3
        assert done.counts["turns"] == 3
        assert done.counts["jobs"] == 1
        with psycopg.connect(database_url) as admin:
            (ledger,) = admin.execute("select array_agg(turn_id) from muniment.turns").fetchone() or ()
            (held,) = (
                admin.execute("select array_agg(distinct t) from muniment.memories, unnest(turns) t").fetchone() or ()
            )
            (hashes,) = admin.execute("select recalled from muniment.turns where thread_id = 'C'").fetchone() or ()
        assert not erased & (set(ledger) | set(held))
        assert not is_repetition("User is allergic to walnuts", hashes)
        assert is_repetition("User sails on Sundays", hashes)
        hits = (await memory.query(scope(), "supervisor", Query(text="Vera teaches", threshold=0.0))).hits
        assert "Vera teaches there" in [hit.memory.text for hit in hits]
        await memory.engine.store.maintenance.unindex_space(scope())
        told = await memory.export(scope())
        await memory.load(scope("cem"), told)
        assert await memory.export(scope("cem")) == told
        with pytest.raises(NotFound):
            await memory.admin.erase(scope(), id_)


async def test_what_was_said_again_in_other_words_goes_with_it(database_url: str) -> None:
    """As the rules read it, and as only a model could have after the first was forgotten; what was made of that,
    too."""
    async with engine(database_url) as memory:
        first = await memory.learn(scope(), said("My wife is Vera."))
        held = first.changes[0].after.id
        await memory.forget(scope(), held)
        other = said("On that ferry Vera and I said yes.", thread="C")
        await memory.conversation.record(
            scope(), [said("We met on a ferry. My wife is called Vera.", thread="B"), other]
        )
        await memory.ingest(scope(), [replace(note("The user's wife is Vera"), kind="semantic", turns=(other.id,))])
        (known,) = await memory.list(scope())
        insight = replace(known, id=MemoryId(uuid4()), kind="insight", text="They stay", fact=None, stable_key=None)
        await commit(memory, scope(), Change(action="ADD", after=insight, vector=hash_vector("They stay")))
        found = await memory.admin.find_traces(scope(), held)
        await memory.admin.erase(scope(), held)
        assert found.threads >= {"B", "C"}
        assert not await memory.list(scope(), states=STATES)
        assert "Vera" not in everything(database_url, but=())


def test_no_table_is_left_out(database_url: str) -> None:
    """Every table with a space is erased with it, but the receipts and the tenant's books."""
    assert set(rows(database_url, scope())) == {
        *erasing._OF_SPACE, "shares", "erasures", "spend", "spend_days", "proxy_days",
    }  # fmt: skip


async def test_a_user_is_erased_and_nobody_else(database_url: str) -> None:
    """No row of any table has the space but the receipt; every other row is as it was, another tenant's of that name
    too."""
    mine, others = scope(), (scope("ben"), scope(tenant="acme"))
    async with engine(database_url) as memory:
        for who in (mine, *others):
            await memory.learn(who, said("I am allergic to walnuts"))
            await forgotten(memory, who=who)
            await memory.engine.store.jobs.enqueue_jobs(
                [Job(name="extract", scope=who, key="1"), Job(name="expire", scope=who)]
            )
            await memory.conversation.mark_seen(who, Revision(1))
            await memory.engine.store.maintenance.index_space(who, 1)
        await memory.conversation.track(mine, OpsEvent(node="face", op="search", status="ok", ts=NOON))
        filled = {name for name, count in rows(database_url, mine).items() if count}
        assert filled >= {"memories", "memory_versions", "journal", "relations", "turns", "events", "consent_requests",
                          "postings", "pair_fingerprints", "thread_revision", "extractions", "spaces"}  # fmt: skip
        before = all_rows(database_url)
        done = await memory.admin.erase_space(mine)
        after = all_rows(database_url)
        (receipt,) = after.pop(str(mine.space))
        del before[str(mine.space)]
        assert after == before
        assert "muniment.erasures" in receipt
        assert not [word for word in ("ana", "walnut", "ello") if f'"{word}' in receipt]
        assert (done.what, done.counts["spaces"], done.counts["jobs"]) == ("user", 1, 2)
        with psycopg.connect(database_url) as admin:
            names = [
                name for (name,) in admin.execute("select relname from pg_class where relname like 'memories_near%'")
            ]
        assert sorted(names) == sorted(build_index_name(who.space, "hash-256") for who in others)
        assert (await memory.admin.erase_space(mine)).counts == {}
        await memory.conversation.flush(mine)
        assert all_rows(database_url)[str(mine.space)] == [receipt]
        await memory.learn(mine, said("I am allergic to walnuts"))
        assert [one.rev for one in await memory.list(mine)] == [1]
        await memory.conversation.mark_seen(mine, Revision(7))  # by a run that began before the erasure
        await memory.remember(mine, "I keep bees")
        assert "bees" in (await memory.brief(mine, "supervisor", "hello")).header
        for who in others:
            await memory.engine.store.maintenance.unindex_space(who)


async def test_what_was_asked_about_what_is_erased_is_not_kept(database_url: str) -> None:
    """An answer of a model that comes after the erasure writes nothing, into the old space or a new one."""
    async with engine(database_url) as memory:
        mine, store = scope(), memory.engine.store
        turn = said("I am allergic to walnuts")
        await memory.learn(mine, turn)
        (held,) = await memory.list(mine)
        late = StoredMemory(
            id=MemoryId(uuid4()), kind="insight", category="goals", text="x", created_at=NOON, updated_at=NOON
        )
        add = Change(action="ADD", after=late, vector=hash_vector("x"))
        looks = (
            ExtractionRecord(turn=turn.id, source="model", prompt="extract-1"),
            ExtractionRecord(turn=TurnId(uuid4()), source="model", prompt="insight-1", since=held.rev),
        )
        for erasing in (memory.admin.erase(mine, held.id), memory.admin.erase_space(mine)):
            await erasing
            rev, _ = await store.reads.find_neighbours(mine, (), 0)
            for look in looks:
                plan = WritePlan(scope=mine, expected_rev=rev, node="worker", at=NOON, changes=(add,), extracted=look)
                with pytest.raises(Conflict):
                    await store.writes.commit(plan)
            assert await memory.list(mine, states=STATES) == []
        assert set(all_rows(database_url)) == {str(mine.space)}
        assert len(all_rows(database_url)[str(mine.space)]) == 2  # the receipts


async def test_a_space_that_is_at_the_same_revision_again(database_url: str) -> None:
    """What was planned before an erasure is not written into the space that was begun anew, though its revision is the
    same."""
    async with engine(database_url) as memory:
        mine, store = scope(), memory.engine.store
        old = await memory.get(mine, await kept(memory, "User is allergic to walnuts"))
        await memory.admin.erase_space(mine)
        await kept(memory, "User keeps bees")
        told, vector = replace(old, text="User is allergic to walnuts and pears"), hash_vector("x")
        new = replace(old, id=MemoryId(uuid4()), text="x")
        add = Change(action="ADD", after=new, vector=vector)
        plan = WritePlan(scope=mine, expected_rev=old.rev, node="worker", at=NOON)
        look = ExtractionRecord(
            turn=TurnId(uuid4()), source="model", prompt="insight-1", since=old.rev, shown=(old.id,)
        )
        for stale in (
            replace(plan, changes=(Change(action="UPDATE", before=old, after=replace(old, pinned=True)),)),
            replace(plan, changes=(Change(action="MERGE", before=old, after=told, vector=vector),)),
            replace(plan, changes=(add,), relations=(Relation(a=new.id, b=old.id, strength=0.7),)),
            replace(plan, changes=(add,), extracted=look),
        ):
            with pytest.raises(Conflict, match="erased"):
                await store.writes.commit(stale)
        assert [one.text for one in await memory.list(mine, states=STATES)] == ["User keeps bees"]


async def test_writers_during_an_erasure(database_url: str) -> None:
    """Each of many writers has written whole, before or after it, or was told that it has not; no half space is
    left."""
    async with engine(database_url) as memory, engine(database_url) as other:
        await memory.learn(scope(), said("I want to learn Wave"))
        erased = asyncio.Event()

        async def write(n: int) -> None:
            last = False
            while not last:  # until it has written what comes after the erasures
                over = erased.is_set()
                with suppress(Conflict):
                    await (memory if n % 2 else other).learn(scope(), said(f"I want to learn {uuid4().hex}"))
                    await (other if n % 2 else memory).conversation.record(scope(), [said(f"turn {n}")])
                    last = over

        writing = [asyncio.create_task(write(n)) for n in range(4)]
        for _ in range(3):
            await asyncio.sleep(0.05)
            assert (await memory.admin.erase_space(scope())).counts.get("spaces", 1) == 1
        erased.set()
        await asyncio.gather(*writing)
        left = await memory.list(scope(), states=STATES, limit=1000)
        assert left
        assert not [one for one in left if "Wave" in one.text]
        with psycopg.connect(database_url) as admin:
            whole = admin.execute("""
                select s.rev = (select count(*) from muniment.journal j where j.space_id = s.space_id)
                  and not exists (select from muniment.memories m where m.space_id = s.space_id and not exists (
                    select from muniment.turns t where t.space_id = s.space_id and t.turn_id = any(m.turns)))
                from muniment.spaces s""").fetchall()
        assert whole == [(True,)]
        await memory.admin.erase_space(scope())
        assert {row.split()[0] for row in all_rows(database_url)[str(scope().space)]} == {"muniment.erasures"}


async def test_what_is_buffered_does_not_bring_it_back(database_url: str) -> None:
    """A process that looked into a space before another erased it writes nothing of that; what it does later begins
    anew."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as reading, engine(database_url, clock=clock) as erasing_it:
        await reading.ingest(scope(), [note("The user sails on Sundays")])
        await reading.query(scope(), "supervisor", Query(text="When does the user sail?"))
        clock.advance(60)
        await erasing_it.admin.erase_space(scope())
        await reading.conversation.flush(scope())
        assert not any(count for table, count in rows(database_url, scope()).items() if table != "erasures")
        clock.advance(60)
        await reading.query(scope(), "supervisor", Query(text="When does the user sail?"))
        await reading.conversation.flush(scope())
        assert (rows(database_url, scope())["spaces"], rows(database_url, scope())["events"]) == (1, 1)
