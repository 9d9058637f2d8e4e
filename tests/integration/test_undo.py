"""Undoing a consolidation: all that it changed is as it was, but what has changed since."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from muniment.memory.domain.consolidation import MemoryGraph
from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.memory import Fact
from muniment.memory.domain.plan import Change, Relation, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import BadInput, NotFound
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, note, scope
from tests.twins import ANA, TWINS, active

DAY = 86_400


async def test_an_undone_run_leaves_no_trace_in_the_content(database_url: str) -> None:
    """After its undo every memory and edge is what it was, and no night of the next two weeks does it again."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await memory.ingest(
            ANA, [note(TWINS[0], importance=4), note(TWINS[1]), note("The user likes tomatoes on bread")]
        )
        before = await active(memory)
        run = await memory.admin.consolidate(ANA)
        assert run is not None
        assert run.same == 1
        clock.advance(10 * 86_400)
        undone = await memory.admin.undo_consolidation(ANA, run.id)
        assert (undone.restored, undone.left) == (2, 0)
        assert [replace(one, rev=Revision(0)) for one in await active(memory)] == [
            replace(one, rev=Revision(0)) for one in before
        ]
        clock.advance(10 * 86_400)
        again = await memory.admin.consolidate(ANA)
        assert again is not None
        assert again.same == 0
        with pytest.raises(BadInput, match="undone already"):
            await memory.admin.undo_consolidation(ANA, run.id)
        with pytest.raises(NotFound):
            await memory.admin.undo_consolidation(scope("ben"), run.id)


async def test_what_was_said_in_two_turns_is_made_one_and_taken_apart_again(database_url: str) -> None:
    """Each turn has a run of its own on a server, which is no bar."""
    async with engine(database_url) as memory:
        for n, words in enumerate(TWINS[:2]):
            await memory.ingest(replace(ANA, run=f"run {n}", session=f"session {n}"), [note(words)])
        before = await memory.export(ANA, content=True)
        run = await memory.admin.consolidate(ANA)
        assert run is not None
        assert (run.same, len(await active(memory))) == (1, 1)
        await memory.admin.undo_consolidation(ANA, run.id)
        assert await memory.export(ANA, content=True) == before


@pytest.mark.parametrize("ends", [("", ".", "!"), ("", ".", "!", "...", "?!")])
async def test_a_chain_that_was_undone_is_not_made_one_again(database_url: str, ends: tuple[str, ...]) -> None:
    """Of those that became one by way of others no two do the next night, whoever was compared with whom, however near
    they have come by then; and nothing that was taken back counts for the day."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await memory.ingest(ANA, [note(f"{TWINS[0]}{end}") for end in ends])
        before = await memory.export(ANA, content=True)
        run = await memory.admin.consolidate(ANA)
        assert run is not None
        assert (run.same, len(await active(memory))) == (len(ends) - 1, 1)
        clock.advance(DAY)
        assert (await memory.admin.undo_consolidation(ANA, run.id)).left == 0
        assert json.dumps(await memory.export(ANA, content=True)) == json.dumps(before)
        with psycopg.connect(database_url) as admin:
            admin.execute("update muniment.pair_fingerprints set score = score - 1 where source <> 'person'")
        assert await memory.engine.store.runs.count_checked_pairs(ANA, clock.now()) == 0
        for _ in range(2):
            clock.advance(6 * DAY)
            again = await memory.admin.consolidate(ANA)
            assert again is not None
            assert (again.status, again.seen, again.same) == ("done", 0, 0)
        assert json.dumps(await memory.export(ANA, content=True)) == json.dumps(before)


async def test_one_of_a_chain_that_has_changed_since_is_not_made_one_again_either(database_url: str) -> None:
    """The survivor is left as a person has made it; what comes back stays beside it."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await memory.ingest(ANA, [note(f"{TWINS[0]}{end}") for end in ("", ".", "!")])
        run = await memory.admin.consolidate(ANA)
        assert run is not None
        await memory.pin(ANA, (await active(memory))[0].id)
        undone = await memory.admin.undo_consolidation(ANA, run.id)
        assert (undone.restored, undone.left) == (2, 1)
        clock.advance(DAY)
        again = await memory.admin.consolidate(ANA)
        assert again is not None
        assert (again.same, len(await active(memory))) == (0, 3)


async def test_what_was_retrieved_goes_over_and_comes_back(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The heir of all has been retrieved as often as all were, and at the latest time; the undo gives each its
    own back, but for what was retrieved since. A retrieval that comes between the look and the merge is not lost."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await memory.ingest(ANA, [note(f"{TWINS[0]}{end}", pinned=not end) for end in ("", ".", "!")])
        told = await active(memory)
        times = [NOON + timedelta(days=n) for n in (3, 1, 2)]
        for one, count, at in zip(told, (5, 2, 1), times, strict=True):
            assert not await memory.engine.store.writes.record_access(ANA, {one.id: count}, at)
        before = {one.id: one for one in await memory.list(ANA)}
        content = await memory.export(ANA, content=True)
        clock.advance(5 * DAY)
        run = await memory.admin.begin_run(ANA)
        assert run is not None
        run, portions = await memory.admin.survey_run(run)
        run, findings = await memory.admin.check_run(run, portions[0])
        taken: list[Any] = []
        members = memory.engine.store.reads.read_members

        async def between(scope: Scope, ids: Sequence[MemoryId]) -> MemoryGraph:
            found = await members(scope, ids)
            if not taken:
                taken.append(await memory.engine.store.writes.record_access(ANA, {told[1].id: 1}, NOON))
            return found

        monkeypatch.setattr(memory.engine.store.reads, "read_members", between)
        run = await memory.admin.end_run(await memory.admin.apply_run(run, findings))
        (heir,) = await active(memory)
        assert (run.same, heir.access_count, heir.last_accessed_at) == (2, 9, times[0])
        await memory.engine.store.writes.record_access(ANA, {heir.id: 4}, clock.now())
        await memory.admin.undo_consolidation(ANA, run.id)
        extra = {heir.id: 4, told[1].id: 1}
        for now in await memory.list(ANA):
            was = before[now.id]
            assert now.access_count == was.access_count + extra.get(now.id, 0)
            assert now.last_accessed_at == (clock.now() if now.id == heir.id else was.last_accessed_at)
        assert json.dumps(await memory.export(ANA, content=True)) == json.dumps(content)


async def test_runs_over_the_same_memory_are_undone_the_last_one_first(database_url: str) -> None:
    """What another run did and took back stands in nobody's way; what it did and did not take back does."""
    async with engine(database_url) as memory:
        third = note(f"{TWINS[0]}!", pinned=True)
        await memory.ingest(ANA, [note(TWINS[0], importance=4), note(TWINS[1], tags=("garden",))])
        before = [replace(one, rev=Revision(0)) for one in await active(memory)]
        first = await memory.admin.consolidate(ANA)
        await memory.ingest(ANA, [third])
        second = await memory.admin.consolidate(ANA)
        assert first is not None
        assert second is not None
        assert (first.same, second.same) == (1, 1)
        assert (await memory.admin.undo_consolidation(ANA, second.id)).left == 0
        assert (await memory.admin.undo_consolidation(ANA, first.id)).left == 0
        after = [replace(one, rev=Revision(0)) for one in await active(memory) if one.text != third.text]
        assert after == before


async def test_a_space_of_every_kind_is_the_same_to_the_byte_after_the_undo(database_url: str) -> None:
    """Pins, tags, trusts, times, edges of several strengths, chains and corrections: undoing the run brings all of it
    back, and what was added meanwhile stays."""
    random = Random(7)
    things = ("tomatoes", "bees", "boats", "violins")

    def one(n: int) -> Candidate:
        text = f"The user looks after the {things[n % 4]} of the village{'.' * random.randint(0, 1)}"
        when = NOON if random.random() < 0.3 else None
        return note(
            text,
            importance=random.randint(1, 5),
            pinned=random.random() < 0.3,
            event_time=when,
            trust=random.choice(("user", "agent")),
            tags=tuple(random.sample("xyz", 2)),
        )

    async with engine(database_url) as memory:
        await memory.ingest(ANA, [one(n) for n in range(24)])
        known = await active(memory)
        rev = (await memory.read_status(ANA))["rev"]
        edges = tuple(
            Relation(a=a.id, b=b.id, strength=round(random.random(), 4))
            for a, b in (random.sample(known, 2) for _ in range(40))
        )
        touched = Change(action="LINK", before=known[0], after=known[0])
        await memory.engine.store.writes.commit(
            WritePlan(scope=ANA, expected_rev=rev, node="worker", at=NOON, changes=(touched,), relations=edges)
        )
        before = await memory.export(ANA, content=True)
        run = await memory.admin.consolidate(ANA)
        assert run is not None
        assert run.same > 5
        assert await memory.export(ANA, content=True) != before
        assert len(await active(memory)) < len(known)
        undone = await memory.admin.undo_consolidation(ANA, run.id)
        assert undone.left == 0
        assert json.dumps(await memory.export(ANA, content=True)) == json.dumps(before)


async def test_an_undo_leaves_what_has_changed_since(database_url: str) -> None:
    """A survivor that was changed after the run stays as it is, what gave way to it comes back, and both are
    counted."""
    async with engine(database_url) as memory:
        await memory.ingest(ANA, [note(TWINS[0], importance=4), note(TWINS[1])])
        run = await memory.admin.consolidate(ANA)
        assert run is not None
        (heir,) = await active(memory)
        await memory.pin(ANA, heir.id)
        undone = await memory.admin.undo_consolidation(ANA, run.id)
        assert (undone.restored, undone.left) == (1, 1)
        now = {one.id: one for one in await active(memory)}
        assert len(now) == 2
        assert now[heir.id].pinned


async def test_an_undo_takes_nobodys_key(database_url: str) -> None:
    """Where another memory has by now the stable key of one that gave way, that one stays superseded."""
    home = Fact(kind="identity", predicate="lives_in", object="Porto", single=True)
    async with engine(database_url) as memory:
        first = Candidate(text="The user lives in Porto", category="activity", fact=home, turns=(TurnId(uuid4()),))
        await memory.ingest(ANA, [first])
        plain = replace(
            first, text="The user lives in Porto.", fact=None, trust="user", pinned=True, turns=(TurnId(uuid4()),)
        )
        await memory.ingest(ANA, [plain])
        run = await memory.admin.consolidate(ANA)
        assert run is not None
        assert run.same == 1
        await memory.ingest(ANA, [replace(first, text="Porto is where the user lives", turns=(TurnId(uuid4()),))])
        undone = await memory.admin.undo_consolidation(ANA, run.id)
        assert (undone.restored, undone.left) == (1, 1)
        keys = [one.stable_key for one in await active(memory) if one.stable_key]
        assert len(keys) == len(set(keys))
