"""What is purged is in no row any more, and everything that reads goes on without it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest

from muniment.memory.domain.ids import Revision
from muniment.memory.domain.memory import STATES
from muniment.memory.domain.plan import Change, WritePlan
from muniment.memory.domain.query import ListRequest, Query
from muniment.memory.errors import BadInput, Conflict, NotFound
from muniment.memory.stores.postgres.schema import large_spaces
from tests.engine import NOON, engine, scope
from tests.erasing import LATER, commit, everything, forgotten, kept, rows


def lines(history: object) -> list[tuple[int, str, str]]:
    return [(one.rev, one.action, one.text) for one in history]  # type: ignore[attr-defined]


async def test_a_purge_leaves_the_journal_and_no_word(database_url: str) -> None:
    """Row, vector, versions, edge, request, event and fingerprint are gone; the lines stay, without what was said."""
    async with engine(database_url) as memory:
        id_ = await forgotten(memory)
        assert "ello" in everything(database_url)
        done = await memory.engine.store.erasure.purge_memories(scope(), [id_], LATER)
        assert done.what == "purge"
        assert done.counts == {
            "memories": 1, "memory_versions": 3, "relations": 1, "consent_requests": 1, "events": 1,
            "pair_fingerprints": 1, "journal": 3,
        }  # fmt: skip
        assert "ello" not in everything(database_url)
        assert lines(await memory.history(scope())) == [
            (6, "DELETE", ""), (5, "DELETE", ""), (4, "UPDATE", ""), (3, "UPDATE", ""),
            (2, "ADD", "Vera teaches there"),
            (1, "ADD", ""),
        ]  # fmt: skip
        last, *_ = await memory.history(scope(), id_)
        assert last.meta == {"hard": True, "why": "purge"}
        assert (last.node, last.old_ref, last.new_ref) == ("worker", f"{id_}@5", None)
        withdrawn = {"consent": "withdrawn", "field": "city"}
        metas = [one.meta for one in await memory.history(scope(), id_)]
        assert metas[1:] == [{"why": "forget"}, withdrawn, {"why": "same"}, {}]
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
        store = memory.engine.store
        assert (await store.erasure.purge_memories(scope(), [one, two], NOON + timedelta(days=29))).counts == {}
        assert (await store.erasure.purge_memories(scope("ben"), [one, two], LATER)).counts == {}
        assert (await store.erasure.purge_memories(scope(), [one, two], LATER)).counts["memories"] == 1
        assert (await store.erasure.purge_memories(scope(), [one, two], LATER)).counts == {}
        assert [item.id for item in await memory.list(scope(), states=STATES)] == [two]
        assert rows(database_url, scope())["erasures"] == 1
        assert rows(database_url, scope("ben")) == dict.fromkeys(rows(database_url, scope("ben")), 0)


async def test_readers_go_on_without_it(database_url: str) -> None:
    """The thread hears of the forgetting once and never of the purge; nothing finds it, then or now."""
    async with engine(database_url) as memory:
        id_ = await forgotten(memory)
        before = await memory.brief(scope(), "supervisor", "hello")
        await memory.conversation.mark_seen(scope(), before.rev)
        await memory.engine.store.erasure.purge_memories(scope(), [id_], LATER)
        after = await memory.brief(scope(thread="B"), "supervisor", "the cello until May")
        assert before.rev + 1 == after.rev
        assert (await memory.brief(scope(), "supervisor", "hello")).header == ""
        assert "cello" not in after.moving
        with pytest.raises(NotFound):
            await memory.get(scope(), id_)
        with pytest.raises(NotFound):
            await memory.get(scope(), id_, as_of=Revision(1))
        assert [one.text for one in (await memory.list_page(scope(), ListRequest(), as_of=Revision(3))).memories] == [
            "Vera teaches there"
        ]
        verdict = await memory.why_not(scope(), "supervisor", id_, Query(text="cello"))
        assert verdict.reason == "other space or unknown"
        assert [one.action for one in (await memory.admin.read_activity(scope(), 5)).changes] == [
            "DELETE",
            "DELETE",
            "UPDATE",
            "UPDATE",
            "ADD",
            "ADD",
        ]


async def test_a_writer_notices(database_url: str) -> None:
    """A plan made before the purge is outdated, and one that would bring the memory back cannot."""
    async with engine(database_url) as memory:
        id_ = await forgotten(memory)
        held = await memory.get(scope(), id_)
        rev, _ = await memory.engine.store.reads.find_neighbours(scope(), (), 0)
        await memory.engine.store.erasure.purge_memories(scope(), [id_], LATER)
        change = Change(action="RESTORE", before=held, after=replace(held, state="active", purge_at=None))
        plan = WritePlan(scope=scope(), expected_rev=rev, node="face", at=NOON, changes=(change,))
        with pytest.raises(Conflict):
            await memory.engine.store.writes.commit(plan)
        with pytest.raises(NotFound):
            await memory.restore(scope(), id_)
        assert rows(database_url, scope())["memories"] == 1


async def test_a_space_with_purged_memories_moves(database_url: str) -> None:
    """Its export can be imported and is the same; lines of a memory that was not purged still need it."""
    async with engine(database_url) as memory:
        id_ = await forgotten(memory)
        await memory.engine.store.erasure.purge_memories(scope(), [id_], LATER)
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
        store = memory.engine.store
        assert (await store.maintenance.index_space(scope(), 1)).indexed
        await memory.forget(scope(), ids[0])
        await store.erasure.purge_memories(scope(), [ids[0]], LATER)
        with psycopg.connect(database_url) as admin:
            listed = "select df, memories, weights from muniment.postings where dimension not in (0, %s)"
            lists = admin.execute(listed, (large_spaces._DATED_LIST,)).fetchall()
        assert lists
        assert all(df == len(listed) == len(weights) > 0 for df, listed, weights in lists)
        assert {id_ for _, listed, _ in lists for id_ in listed} == set(ids[1:])
        for _ in range(2):
            answer = await memory.query(scope(), "supervisor", Query(text="cello", threshold=0.0))
            assert ids[1] in {hit.memory.id for hit in answer.hits}
            assert ids[0] not in {hit.memory.id for hit in answer.hits}
            await store.maintenance.index_space(scope(), 1, force=True)
        await store.maintenance.unindex_space(scope())


async def test_what_it_replaced_is_replaced_by_nothing(database_url: str) -> None:
    """A memory that had to go for it, and its former version, name no memory that is not there."""
    async with engine(database_url) as memory:
        heir, former = await kept(memory, "The cello is sold"), await kept(memory, "The cello is rented")
        held = await memory.get(scope(), former)
        gone = replace(held, state="superseded", superseded_by=heir)
        await commit(memory, scope(), Change(action="UPDATE", before=held, after=gone))
        await commit(memory, scope(), Change(action="UPDATE", before=gone, after=replace(gone, pinned=True)))
        await memory.forget(scope(), heir)
        await memory.engine.store.erasure.purge_memories(scope(), [heir], LATER)
        assert (await memory.get(scope(), former)).superseded_by is None
        assert (await memory.get(scope(), former, as_of=Revision(3))).superseded_by is None
        verdict = await memory.why_not(scope(), "supervisor", former, Query(text="cello"))
        assert verdict.reason == "superseded"
        assert str(heir) not in str([row for row in await memory.export(scope()) if row["type"] != "journal"])
