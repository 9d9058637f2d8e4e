"""Consolidation over a real database: what is found, what becomes of it, and what is left alone."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.memory.engine import Memory
from muniment.memory.errors import BadInput, NotFound
from muniment.memory.models.fakes import FixedClock
from muniment.memory.records import Memory as Record, Revision, evolve
from tests.engine import NOON, engine, note, scope

ANA = scope(thread="")
TWINS = ("The user waters the tomatoes on the balcony", "The user waters the tomatoes on the balcony.")


async def active(memory: Memory, owner: Any = ANA) -> list[Record]:
    return sorted(await memory.list(owner), key=lambda one: one.text)


async def texts(memory: Memory, owner: Any = ANA) -> list[str]:
    return [one.text for one in await active(memory, owner)]


async def test_of_two_that_say_the_same_one_stays_with_what_supports_both(database_url: str) -> None:
    """The survivor has the turns, tags, importance and pin of both; the other is superseded by it and in no answer."""
    async with engine(database_url) as memory:
        first, second = note(TWINS[0], importance=4, tags=("garden",)), note(TWINS[1], pinned=True, tags=("home",))
        await memory.ingest(ANA, [first, second, note("The user reads a book about bees")])
        run = await memory.consolidate(ANA)
        assert run is not None
        assert (run.status, run.seen, run.checked, run.same, run.duplicates_before, run.duplicates_after) == (
            "done", 1, 1, 1, 1, 0,
        )  # fmt: skip
        heir = next(one for one in await active(memory) if "tomatoes" in one.text)
        assert (heir.importance, heir.pinned, set(heir.tags)) == (4, True, {"garden", "home"})
        assert set(heir.turns) == {*first.turns, *second.turns}
        (gone,) = await memory.list(ANA, states=("superseded",))
        assert gone.superseded_by == heir.id
        assert (await memory.consolidations(ANA))[0] == run


async def test_nothing_is_merged_across_persons(database_url: str) -> None:
    """The same words of two people stay two memories, and so do two people's dogs."""
    async with engine(database_url) as memory:
        await memory.ingest(
            ANA,
            [note(TWINS[0], actor="ana"), note(TWINS[1], actor="ben"), note("The user's sister has a dog called Rex"),
             note("The user's brother has a dog called Rex")],
        )  # fmt: skip
        run = await memory.consolidate(ANA)
        assert run is not None
        assert (run.same, run.superseded, run.distinct) == (0, 0, 2)
        assert len(await texts(memory)) == 4


async def test_a_pair_is_not_looked_at_twice(database_url: str) -> None:
    """What was checked is checked again only after `fingerprint_days`, and a day has its cap."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await memory.ingest(ANA, [note("The user went running on 3 May"), note("The user went running on 4 May")])
        runs = [await memory.consolidate(ANA) for _ in range(2)]
        assert [one.checked for one in runs if one] == [1, 0]
        clock.advance(15 * 86_400)
        await memory.pin(ANA, (await active(memory))[0].id)
        again = await memory.consolidate(ANA)
        assert again is not None
        assert again.checked == 1


async def test_an_undone_run_leaves_no_trace_in_the_content(database_url: str) -> None:
    """After its undo every memory and edge is what it was, and the next night does not do it again."""
    async with engine(database_url) as memory:
        await memory.ingest(
            ANA, [note(TWINS[0], importance=4), note(TWINS[1]), note("The user likes tomatoes on bread")]
        )
        before = await active(memory)
        run = await memory.consolidate(ANA)
        assert run is not None
        assert run.same == 1
        undone = await memory.undo_consolidation(ANA, run.id)
        assert (undone.restored, undone.left) == (2, 0)
        assert [evolve(one, rev=Revision(0)) for one in await active(memory)] == [
            evolve(one, rev=Revision(0)) for one in before
        ]
        again = await memory.consolidate(ANA)
        assert again is not None
        assert again.same == 0
        with pytest.raises(BadInput, match="undone already"):
            await memory.undo_consolidation(ANA, run.id)
        with pytest.raises(NotFound):
            await memory.undo_consolidation(scope("ben"), run.id)
