"""What is removed for good is in no row any more, and everything that reads goes on without it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from uuid import uuid4

import psycopg
import pytest

from muniment.memory.engine import Memory
from muniment.memory.errors import BadInput, Conflict, NotFound
from muniment.memory.models.fakes import hash_vector
from muniment.memory.pages import STATES, Listing
from muniment.memory.plan import Change, Extracted, Job, OpsEvent, Proposal, Relation, WritePlan
from muniment.memory.records import (
    Kind,
    Memory as Record,
    MemoryId,
    Query,
    Revision,
    Scope,
    Turn,
    TurnId,
    evolve,
)
from muniment.memory.rules.fingerprints import repeats
from muniment.memory.stores.large import index_name
from tests.engine import NOON, engine, note, said, scope

LATER = NOON + timedelta(days=31)
TABLES = """
    select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'muniment' and c.relkind = 'r' and exists (
      select from pg_attribute a where a.attrelid = c.oid and a.attname = 'space_id') order by 1"""


def rows(url: str, who: Scope) -> dict[str, int]:
    """How many rows each table has of a space."""
    with psycopg.connect(url) as admin:
        tables = [name for (name,) in admin.execute(TABLES).fetchall()]
        return {
            name: admin.execute(f"select count(*) from muniment.{name} where space_id = %s", (who.space,)).fetchone()[0]  # type: ignore[index]
            for name in tables
        }


def everything(url: str, but: tuple[str, ...] = ("turns",)) -> str:
    """All rows of all tables but these as one text."""
    with psycopg.connect(url) as admin:
        tables = [name for (name,) in admin.execute(TABLES).fetchall() if name not in but]
        tables = [f"muniment.{name}" for name in tables] + ["jobs.procrastinate_jobs"]
        return "\n".join(str(admin.execute(f"select to_jsonb(t) from {name} t").fetchall()) for name in tables)


async def kept(memory: Memory, text: str, who: Scope | None = None, category: str = "activity") -> MemoryId:
    """The id of a new memory."""
    who = who or scope()
    before = {one.id for one in await memory.list(who, states=STATES, limit=1000)}
    await memory.ingest(who, [note(text, category)])
    (made,) = {one.id for one in await memory.list(who, states=STATES, limit=1000)} - before
    return made


async def commit(memory: Memory, who: Scope, *changes: Change, **more: object) -> Revision:
    rev, _ = await memory.house.store.near(who, (), 0)
    plan = WritePlan(scope=who, expects=rev, node="worker", at=memory.now(), changes=changes)
    return (await memory.house.store.commit(evolve(plan, **more))).rev


async def forgotten(memory: Memory, who: Scope | None = None) -> MemoryId:
    """A memory with everything that there can be about one, forgotten."""
    who, text = who or scope(), "The cello is rented until May"
    id_ = await kept(memory, text, who)
    other = await kept(memory, "Vera teaches there", who)
    found = await memory.get(who, id_)
    corrected = evolve(found, text=f"{text}, or June")
    change = Change(action="UPDATE", before=found, after=corrected, meta={"why": "same", "said": text})
    ask = Proposal(field="city", value="Cellotown", memory=id_, turns=(), expires_at=LATER)
    await commit(memory, who, change, relations=(Relation(a=id_, b=other, strength=0.9),), proposals=(ask,))
    await memory.track(who, OpsEvent(node="face", op="search", status="ok", ts=NOON, memory_id=id_))
    await memory.flush(who)
    with psycopg.connect(memory.house.settings.database_url.get_secret_value()) as admin:  # type: ignore[union-attr]
        admin.execute(
            "insert into muniment.pair_fingerprints values (%s, %s, %s, 90, 'same', 'rules', %s, %s)",
            (who.space, *sorted((id_, other)), uuid4(), NOON),
        )
    await memory.forget(who, id_)
    return id_


def lines(history: object) -> list[tuple[int, str, str]]:
    return [(one.rev, one.action, one.text) for one in history]  # type: ignore[attr-defined]


async def test_a_purge_leaves_the_journal_and_no_word(database_url: str) -> None:
    """Row, vector, versions, edge, request, event and fingerprint are gone; the lines stay, without what was said."""
    async with engine(database_url) as memory:
        id_ = await forgotten(memory)
        assert "ello" in everything(database_url)
        done = await memory.house.store.purge(scope(), [id_], LATER)
        assert done.what == "purge"
        assert done.counts == {
            "memories": 1, "memory_versions": 2, "relations": 1, "consent_requests": 1, "events": 1,
            "pair_fingerprints": 1, "journal": 2,
        }  # fmt: skip
        assert "ello" not in everything(database_url)
        assert lines(await memory.history(scope())) == [
            (5, "DELETE", ""), (4, "DELETE", ""), (3, "UPDATE", ""), (2, "ADD", "Vera teaches there"), (1, "ADD", ""),
        ]  # fmt: skip
        last, *_ = await memory.history(scope(), id_)
        assert last.meta == {"hard": True, "why": "purge"}
        assert (last.node, last.old_ref, last.new_ref) == ("worker", f"{id_}@4", None)
        assert [one.meta for one in await memory.history(scope(), id_)][1:] == [{"why": "forget"}, {"why": "same"}, {}]
        with psycopg.connect(database_url) as admin:
            receipts = admin.execute("select erasure_id, what, counts, at from muniment.erasures").fetchall()
            log = admin.execute("select event from muniment.change_log order by rev desc limit 2").fetchall()
        assert receipts == [(done.id, "purge", done.counts, LATER)]
        assert log == [("deleted",), ("soft_deleted",)]


async def test_only_what_is_due_is_purged(database_url: str) -> None:
    """Not what was restored, not what has its days yet, not another's, and not twice; then there is no receipt."""
    async with engine(database_url) as memory:
        one, two = await kept(memory, "The cello is rented"), await kept(memory, "The piano is tuned")
        await memory.forget(scope(), one)
        await memory.forget(scope(), two)
        await memory.restore(scope(), two)
        store = memory.house.store
        assert (await store.purge(scope(), [one, two], NOON + timedelta(days=29))).counts == {}
        assert (await store.purge(scope("ben"), [one, two], LATER)).counts == {}
        assert (await store.purge(scope(), [one, two], LATER)).counts["memories"] == 1
        assert (await store.purge(scope(), [one, two], LATER)).counts == {}
        assert [item.id for item in await memory.list(scope(), states=STATES)] == [two]
        assert rows(database_url, scope())["erasures"] == 1
        assert rows(database_url, scope("ben")) == dict.fromkeys(rows(database_url, scope("ben")), 0)


async def test_readers_go_on_without_it(database_url: str) -> None:
    """The thread hears of the forgetting once and never of the purge; nothing finds it, then or now."""
    async with engine(database_url) as memory:
        id_ = await forgotten(memory)
        before = await memory.brief(scope(), "supervisor", "hello")
        await memory.seen(scope(), before.rev)
        await memory.house.store.purge(scope(), [id_], LATER)
        after = await memory.brief(scope(thread="B"), "supervisor", "the cello until May")
        assert before.rev + 1 == after.rev
        assert (await memory.brief(scope(), "supervisor", "hello")).header == ""
        assert "cello" not in after.moving
        with pytest.raises(NotFound):
            await memory.get(scope(), id_)
        with pytest.raises(NotFound):
            await memory.get(scope(), id_, as_of=Revision(1))
        assert [one.text for one in (await memory.page(scope(), Listing(), as_of=Revision(3))).memories] == [
            "Vera teaches there"
        ]
        verdict = await memory.why_not(scope(), "supervisor", id_, Query(text="cello"))
        assert verdict.reason == "other space or unknown"
        assert [one.action for one in (await memory.activity(scope(), 5)).changes] == [
            "DELETE",
            "DELETE",
            "UPDATE",
            "ADD",
            "ADD",
        ]


async def test_a_writer_notices(database_url: str) -> None:
    """A plan made before the purge is outdated, and one that would bring the memory back cannot."""
    async with engine(database_url) as memory:
        id_ = await forgotten(memory)
        held = await memory.get(scope(), id_)
        rev, _ = await memory.house.store.near(scope(), (), 0)
        await memory.house.store.purge(scope(), [id_], LATER)
        change = Change(action="RESTORE", before=held, after=evolve(held, state="active", purge_at=None))
        plan = WritePlan(scope=scope(), expects=rev, node="face", at=NOON, changes=(change,))
        with pytest.raises(Conflict):
            await memory.house.store.commit(plan)
        with pytest.raises(NotFound):
            await memory.restore(scope(), id_)
        assert rows(database_url, scope())["memories"] == 1


async def test_a_space_with_purged_memories_moves(database_url: str) -> None:
    """Its export can be imported and is the same; lines of a memory that was not purged still need it."""
    async with engine(database_url) as memory:
        id_ = await forgotten(memory)
        await memory.house.store.purge(scope(), [id_], LATER)
        told = await memory.export(scope())
        await memory.load(scope("ben"), told)
        assert await memory.export(scope("ben")) == told
        assert lines(await memory.history(scope("ben"))) == lines(await memory.history(scope()))
        broken = [row for row in told if not (row["type"] == "journal" and "hard" in row["meta"])]
        with pytest.raises(BadInput, match="not in it"):
            await memory.load(scope("cem"), broken)


async def test_lists_of_a_large_space_lose_it(database_url: str) -> None:
    """The words' lists do not name it any more, the others are still found by theirs, and the next lists are right."""
    async with engine(database_url) as memory:
        ids = [await kept(memory, text) for text in ("zebra cello", "cello piano", "piano flute")]
        store = memory.house.store
        assert (await store.index(scope(), 1)).indexed
        await memory.forget(scope(), ids[0])
        await store.purge(scope(), [ids[0]], LATER)
        with psycopg.connect(database_url) as admin:
            lists = admin.execute("select df, memories, weights from muniment.postings where dimension <> 0").fetchall()
        assert lists
        assert all(df == len(listed) == len(weights) > 0 for df, listed, weights in lists)
        assert {id_ for _, listed, _ in lists for id_ in listed} == set(ids[1:])
        for _ in range(2):
            answer = await memory.query(scope(), "supervisor", Query(text="cello", threshold=0.0))
            assert ids[1] in {hit.memory.id for hit in answer.hits}
            assert ids[0] not in {hit.memory.id for hit in answer.hits}
            await store.index(scope(), 1, anew=True)
        await store.unindex(scope())


async def lived(memory: Memory) -> MemoryId:
    """A space in which a statement left every kind of trace, and others that have nothing to do with it."""
    mine, store = scope(), memory.house.store
    first = said("I am allergic to walnuts, and I sail on Sundays", thread="A")
    await memory.learn(mine, first)
    reply = Turn.make(
        session="B", key="r", role="assistant", text="Noted. You are allergic to walnuts!", at=NOON, thread="B",
        recalled=memory.fingerprints("[constraints] User is allergic to walnuts"),
    )  # fmt: skip
    asked = Turn.make(
        session="C", key="q", role="user", text="What may I eat?", at=NOON, thread="C",
        recalled=memory.fingerprints("User is allergic to walnuts", "User sails on Sundays"),
    )  # fmt: skip
    other = said("The piano is tuned in March", thread="D")
    await memory.record(mine, [reply, asked, other])
    (held,) = [one for one in await memory.list(mine) if "walnut" in one.text]
    tied = evolve(note("The user decided to avoid walnuts, being allergic to walnuts"), turns=(other.id,))
    await memory.ingest(mine, [tied, evolve(note("Vera teaches there"), context="I am allergic to walnuts")])
    made: tuple[tuple[Kind, str, tuple[TurnId, ...]], ...] = (
        ("insight", "The user plans ahead", (first.id, other.id)), ("insight", "The user likes order", (other.id,)),
        ("semantic", "User rows", (first.id, other.id)),
    )  # fmt: skip
    for kind, text, turns in made:
        one = Record(id=MemoryId(uuid4()), kind=kind, category="goals", text=text, created_at=NOON, updated_at=NOON)
        await commit(memory, mine, Change(action="ADD", after=evolve(one, turns=turns), vector=hash_vector(text)))
    once = await kept(memory, "User is allergic to walnuts and pears", category="goals")
    was = await memory.get(mine, once)
    now = evolve(was, text="User keeps bees")
    await commit(memory, mine, Change(action="UPDATE", before=was, after=now, meta={"why": "supersedes"}))
    await store.enqueue(
        [Job(name="extract", scope=mine, key=str(first.id)), Job(name="extract", scope=mine, key=str(other.id))]
    )
    return held.id


async def test_what_says_it_is_found(database_url: str) -> None:
    """The turns that support or repeat it, the threads in which it was said or recalled, and what was made of it."""
    async with engine(database_url) as memory:
        id_ = await lived(memory)
        found = await memory.traces(scope(), id_)
        assert found.threads == {"A", "B", "C"}
        assert len(found.turns) == 3
        assert sorted(one.text for one in found.built_on) == [
            "The user decided to avoid walnuts, being allergic to walnuts", "The user plans ahead",
        ]  # fmt: skip
        assert [one.text for one in found.former] == ["User is allergic to walnuts and pears"]
        assert [one.text for one in found.around if not one.since] == ["Vera teaches there"]
        assert (await memory.traces(scope())).threads == {"A", "B", "C", "D"}
        assert memory.said_in(found, "So you're allergic to walnuts?")
        assert not memory.said_in(found, "Walnuts are nuts.")
        with pytest.raises(NotFound):
            await memory.traces(scope("ben"), id_)


async def test_a_memory_is_erased_with_all_that_says_it(database_url: str) -> None:
    """No table says it any more; what has nothing to do with it stays, without the turns that are gone."""
    async with engine(database_url) as memory:
        id_ = await lived(memory)
        await memory.house.store.index(scope(), 1)
        assert "llergic" in everything(database_url, but=())
        erased = set((await memory.traces(scope(), id_)).turns)
        done = await memory.erase(scope(), id_)
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
        assert not repeats("User is allergic to walnuts", hashes)
        assert repeats("User sails on Sundays", hashes)
        hits = (await memory.query(scope(), "supervisor", Query(text="Vera teaches", threshold=0.0))).hits
        assert "Vera teaches there" in [hit.memory.text for hit in hits]
        await memory.house.store.unindex(scope())
        told = await memory.export(scope())
        await memory.load(scope("cem"), told)
        assert await memory.export(scope("cem")) == told
        with pytest.raises(NotFound):
            await memory.erase(scope(), id_)


def all_rows(url: str) -> dict[str, list[str]]:
    """Every row of every table by its space, as a text."""
    found: dict[str, list[str]] = {}
    with psycopg.connect(url) as admin:
        tables = [f"muniment.{name}" for (name,) in admin.execute(TABLES).fetchall()] + ["jobs.procrastinate_jobs"]
        for name in tables:
            space = "space_id::text" if name.startswith("muniment") else "split_part(queueing_lock, ':', 1)"
            for key, row in admin.execute(f"select {space}, to_jsonb(t)::text from {name} t").fetchall():
                found.setdefault(key, []).append(f"{name} {row}")
    return {key: sorted(some) for key, some in found.items()}


async def test_a_user_is_erased_and_nobody_else(database_url: str) -> None:
    """No row of any table has the space but the receipt; every other row is as it was, another tenant's of that name too."""
    mine, others = scope(), (scope("ben"), scope(tenant="acme"))
    async with engine(database_url) as memory:
        for who in (mine, *others):
            await memory.learn(who, said("I am allergic to walnuts"))
            await forgotten(memory, who=who)
            await memory.house.store.enqueue([Job(name="extract", scope=who, key="1"), Job(name="expire", scope=who)])
            await memory.seen(who, Revision(1))
            await memory.house.store.index(who, 1)
        await memory.track(mine, OpsEvent(node="face", op="search", status="ok", ts=NOON))
        filled = {name for name, count in rows(database_url, mine).items() if count}
        assert filled >= {"memories", "memory_versions", "journal", "relations", "turns", "events", "consent_requests",
                          "postings", "pair_fingerprints", "thread_revision", "extractions", "spaces"}  # fmt: skip
        before = all_rows(database_url)
        done = await memory.erase_space(mine)
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
        assert sorted(names) == sorted(index_name(who.space, "hash-256") for who in others)
        assert (await memory.erase_space(mine)).counts == {}
        await memory.flush(mine)
        assert all_rows(database_url)[str(mine.space)] == [receipt]
        await memory.learn(mine, said("I am allergic to walnuts"))
        assert [one.rev for one in await memory.list(mine)] == [1]
        for who in others:
            await memory.house.store.unindex(who)


async def test_what_was_asked_about_what_is_erased_is_not_kept(database_url: str) -> None:
    """An answer of a model that comes after the erasure writes nothing, into the old space or a new one."""
    async with engine(database_url) as memory:
        mine, store = scope(), memory.house.store
        turn = said("I am allergic to walnuts")
        await memory.learn(mine, turn)
        (held,) = await memory.list(mine)
        late = Record(
            id=MemoryId(uuid4()), kind="insight", category="goals", text="x", created_at=NOON, updated_at=NOON
        )
        add = Change(action="ADD", after=late, vector=hash_vector("x"))
        looks = (
            Extracted(turn=turn.id, source="model", prompt="extract-1"),
            Extracted(turn=TurnId(uuid4()), source="model", prompt="insight-1", since=held.rev),
        )
        for erasing in (memory.erase(mine, held.id), memory.erase_space(mine)):
            await erasing
            rev, _ = await store.near(mine, (), 0)
            for look in looks:
                plan = WritePlan(scope=mine, expects=rev, node="worker", at=NOON, changes=(add,), extracted=look)
                with pytest.raises(Conflict):
                    await store.commit(plan)
            assert await memory.list(mine, states=STATES) == []
        assert set(all_rows(database_url)) == {str(mine.space)}
        assert len(all_rows(database_url)[str(mine.space)]) == 2  # the receipts


async def test_writers_during_an_erasure(database_url: str) -> None:
    """Each of many writers has written whole, before or after it, or was told that it has not; no half space is left."""
    async with engine(database_url) as memory, engine(database_url) as other:
        await memory.learn(scope(), said("I have a boat called Wave"))
        erased = asyncio.Event()

        async def write(n: int) -> None:
            last = False
            while not last:
                last = erased.is_set()
                with suppress(Conflict):
                    await (memory if n % 2 else other).learn(scope(), said(f"I have a cat called {uuid4().hex}"))
                    await (other if n % 2 else memory).record(scope(), [said(f"turn {n}")])

        writing = [asyncio.create_task(write(n)) for n in range(4)]
        for _ in range(3):
            await asyncio.sleep(0.05)
            assert (await memory.erase_space(scope())).counts["spaces"] == 1
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
        await memory.erase_space(scope())
        assert {row.split()[0] for row in all_rows(database_url)[str(scope().space)]} == {"muniment.erasures"}
