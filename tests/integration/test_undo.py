"""Undoing a consolidation: all that it changed is as it was, but what has changed since."""

from __future__ import annotations

import json
from random import Random
from uuid import uuid4

import pytest

from muniment.memory.errors import BadInput, NotFound
from muniment.memory.models.fakes import FixedClock
from muniment.memory.plan import Change, Relation, WritePlan
from muniment.memory.records import Candidate, Fact, Revision, TurnId, evolve
from tests.engine import NOON, engine, note, scope
from tests.twins import ANA, TWINS, active


async def test_an_undone_run_leaves_no_trace_in_the_content(database_url: str) -> None:
    """After its undo every memory and edge is what it was, and no night of the next two weeks does it again."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await memory.ingest(
            ANA, [note(TWINS[0], importance=4), note(TWINS[1]), note("The user likes tomatoes on bread")]
        )
        before = await active(memory)
        run = await memory.consolidate(ANA)
        assert run is not None
        assert run.same == 1
        clock.advance(10 * 86_400)
        undone = await memory.undo_consolidation(ANA, run.id)
        assert (undone.restored, undone.left) == (2, 0)
        assert [evolve(one, rev=Revision(0)) for one in await active(memory)] == [
            evolve(one, rev=Revision(0)) for one in before
        ]
        clock.advance(10 * 86_400)
        again = await memory.consolidate(ANA)
        assert again is not None
        assert again.same == 0
        with pytest.raises(BadInput, match="undone already"):
            await memory.undo_consolidation(ANA, run.id)
        with pytest.raises(NotFound):
            await memory.undo_consolidation(scope("ben"), run.id)


async def test_runs_over_the_same_memory_are_undone_the_last_one_first(database_url: str) -> None:
    """What another run did and took back stands in nobody's way; what it did and did not take back does."""
    async with engine(database_url) as memory:
        third = note(f"{TWINS[0]}!", pinned=True)
        await memory.ingest(ANA, [note(TWINS[0], importance=4), note(TWINS[1], tags=("garden",))])
        before = [evolve(one, rev=Revision(0)) for one in await active(memory)]
        first = await memory.consolidate(ANA)
        await memory.ingest(ANA, [third])
        second = await memory.consolidate(ANA)
        assert first is not None
        assert second is not None
        assert (first.same, second.same) == (1, 1)
        assert (await memory.undo_consolidation(ANA, second.id)).left == 0
        assert (await memory.undo_consolidation(ANA, first.id)).left == 0
        after = [evolve(one, rev=Revision(0)) for one in await active(memory) if one.text != third.text]
        assert after == before


async def test_a_space_of_every_kind_is_the_same_to_the_byte_after_the_undo(database_url: str) -> None:
    """Pins, tags, trusts, times, edges of several strengths, chains and corrections: undoing the run brings all of it back, and
    what was added meanwhile stays."""
    random = Random(7)
    things = ("tomatoes", "bees", "boats", "violins")

    def one(n: int) -> Candidate:
        text = f"The user looks after the {things[n % 4]} of the village{'.' * random.randint(0, 1)}"
        when = NOON if random.random() < 0.3 else None
        return note(text, importance=random.randint(1, 5), pinned=random.random() < 0.3, event_time=when,
                    trust=random.choice(("user", "agent")), tags=tuple(random.sample("xyz", 2)))  # fmt: skip

    async with engine(database_url) as memory:
        await memory.ingest(ANA, [one(n) for n in range(24)])
        known = await active(memory)
        rev = (await memory.status(ANA))["rev"]
        edges = tuple(
            Relation(a=a.id, b=b.id, strength=round(random.random(), 4))
            for a, b in (random.sample(known, 2) for _ in range(40))
        )
        touched = Change(action="LINK", before=known[0], after=known[0])
        await memory.house.store.commit(
            WritePlan(scope=ANA, expects=rev, node="worker", at=NOON, changes=(touched,), relations=edges)
        )
        before = await memory.export(ANA, content=True)
        run = await memory.consolidate(ANA)
        assert run is not None
        assert run.same > 10
        assert await memory.export(ANA, content=True) != before
        assert len(await active(memory)) < len(known)
        undone = await memory.undo_consolidation(ANA, run.id)
        assert undone.left == 0
        assert json.dumps(await memory.export(ANA, content=True)) == json.dumps(before)


async def test_an_undo_leaves_what_has_changed_since(database_url: str) -> None:
    """A survivor that was changed after the run stays as it is, what gave way to it comes back, and both are counted."""
    async with engine(database_url) as memory:
        await memory.ingest(ANA, [note(TWINS[0], importance=4), note(TWINS[1])])
        run = await memory.consolidate(ANA)
        assert run is not None
        (heir,) = await active(memory)
        await memory.pin(ANA, heir.id)
        undone = await memory.undo_consolidation(ANA, run.id)
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
        plain = evolve(
            first, text="The user lives in Porto.", fact=None, trust="user", pinned=True, turns=(TurnId(uuid4()),)
        )
        await memory.ingest(ANA, [plain])
        run = await memory.consolidate(ANA)
        assert run is not None
        assert run.same == 1
        await memory.ingest(ANA, [evolve(first, text="Porto is where the user lives", turns=(TurnId(uuid4()),))])
        undone = await memory.undo_consolidation(ANA, run.id)
        assert (undone.restored, undone.left) == (1, 1)
        keys = [one.stable_key for one in await active(memory) if one.stable_key]
        assert len(keys) == len(set(keys))
