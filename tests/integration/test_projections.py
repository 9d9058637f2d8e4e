"""Projections: one active row for each slot, kept with each change, and the same when they are made anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import psycopg

from muniment.memory.client import Memory
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.layers.projections import Projection, ProjectionRequest
from muniment.memory.domain.memory import Fact
from muniment.memory.domain.plan import Change
from muniment.memory.domain.turn import Candidate
from tests.engine import NOON, engine, note, said, scope
from tests.erasing import commit


async def listed(memory: Memory, *types: str) -> list[Projection]:
    """The projections of the space."""
    return await memory.engine.layer_stores.projections.list_projections(
        memory.engine.settings.make_owner_reader(scope()), ProjectionRequest(types=types, limit=10_000)
    )


def dump(url: str) -> list[str]:
    """Every row of the table, byte for byte."""
    with psycopg.connect(url) as conn:
        found = conn.execute("select p::text from muniment.projections p order by space_id, projection_id").fetchall()
    return [text for (text,) in found]


async def test_a_preference_that_changes_ten_times_is_one_slot(database_url: str) -> None:
    """One active row with the last value, and ten lines of history."""
    async with engine(database_url) as memory:
        for n in range(10):
            await memory.learn(scope(), said(f"I live in {['Porto', 'Oslo', 'Rome', 'Paris', 'Lima'][n % 5]}."))
        [row] = await listed(memory)
        assert (row.type, row.key, row.status) == ("user_profile", "lives_in", "active")
        assert row.data == {"slot": "lives_in", "value": "Lima", "negated": False}
        assert len(await memory.history(scope(), row.memory)) == 10
        before = dump(database_url)
        done = await memory.projections.rebuild(scope())
        assert (done.before, done.after, done.changed) == (1, 1, 0)
        assert dump(database_url) == before
        assert await memory.engine.layer_stores.projections.find_lag(scope()) == 0


def home(place: str, **more: Any) -> Candidate:
    """A statement of where the user lives, of a source of its own."""
    fact = Fact(kind="identity", predicate=more.pop("predicate", "lives_in"), object=place)
    return Candidate(text=f"The user's home is {place}", category="profile", fact=fact, **more)


async def test_what_is_trusted_most_stands_before_a_model(database_url: str) -> None:
    """What a file says otherwise of the same slot is kept and listed, and not before the model; as much trust is a
    conflict, of which both are shown. The block is the same as long as the profile is."""
    async with engine(database_url) as memory:
        await memory.ingest(scope(), [home("Porto"), home("Oslo", trust="document"), home("Porto", predicate="city")])
        block = (await memory.brief(scope(), "supervisor", "hello")).stable
        assert "Porto" in block
        assert "Oslo" not in block
        first, second, third = await listed(memory)
        assert (first.status, second.status, third.status) == ("active", "support", "outranked")
        assert (first.data, third.data["value"]) == (second.data, "Oslo")
        assert await memory.projections.list_conflicts(scope()) == []
        await memory.ingest(scope(), [note("The cello is rented")])
        assert (await memory.brief(scope(), "supervisor", "hello")).stable == block
        await memory.ingest(scope(), [home("Rome")])
        disputed = (await memory.brief(scope(), "supervisor", "hello")).stable
        assert "Porto" in disputed
        assert "Rome" in disputed
        [slot] = await memory.projections.list_conflicts(scope())
        assert [each.data["value"] for each in slot] == ["Rome", "Porto", "Porto"]
        assert [each.status for each in slot] == ["active", "conflict", "conflict"]
        await memory.forget(scope(), slot[0].memory)
        assert await memory.projections.list_conflicts(scope()) == []
        [active] = [each for each in await listed(memory) if each.status == "active"]
        assert (active.data["value"], len(active.memories)) == ("Porto", 3)


async def test_what_stays_in_a_project_is_no_profile(database_url: str) -> None:
    """Nor is an event, a note, or what is said of somebody else; an event with a date is an episode."""
    async with engine(database_url) as memory:
        moved = Fact(kind="event", predicate="moved_to", object="Rome")
        about = Fact(kind="relationship", predicate="lives_in", object="Rome", subject="Anna", single=True)
        await memory.ingest(
            scope(project="atlas"),
            [
                home("Porto", reach="project"),
                Candidate(text="The user moved to Rome", category="event", fact=moved, event_time=NOON),
                Candidate(text="Anna lives in Rome", category="relationships", fact=about),
                Candidate(text="The user has moved once", category="event", fact=replace(moved, object="once")),
            ],
        )
        assert [(each.type, each.title) for each in await listed(memory)] == [("episode", "The user moved to Rome")]


async def test_a_process_that_knows_none_is_caught_up_with(database_url: str) -> None:
    """Its plans have no slots: the space falls behind, and is made anew by whoever reads it, or by its maintenance."""
    async with engine(database_url) as memory:
        await memory.learn(scope(), said("I live in Porto."))
        with psycopg.connect(database_url) as conn:
            conn.execute("alter table muniment.memories no force row level security")
            conn.execute("alter table muniment.spaces no force row level security")
            conn.execute("alter table muniment.projections no force row level security")
            conn.execute("update muniment.memories set fact = jsonb_set(fact, '{object}', '\"Oslo\"')")
            conn.execute("update muniment.spaces set projected_rev = 0")
        store = memory.engine.layer_stores.projections
        await memory.learn(scope(), said("My name is Ana."))
        assert await store.find_lag(scope()) == 2
        found = await memory.projections.list(scope(), types=("user_profile",))
        assert {each.key: each.data["value"] for each in found}["lives_in"] == "Oslo"
        assert await store.find_lag(scope()) == 0
        with psycopg.connect(database_url) as conn:
            conn.execute("update muniment.spaces set projected_rev = 0")
        await memory.admin.maintain(scope())
        assert await store.find_lag(scope()) == 0


async def test_as_of_a_revision_slots_are_as_they_were(database_url: str) -> None:
    """And an agent with an allowlist sees no row of another category."""
    async with engine(database_url) as memory:
        for place in ("Porto", "Oslo"):
            await memory.learn(scope(), said(f"I live in {place}."))
        [then] = await memory.projections.list(scope(), as_of=Revision(1))
        assert (then.status, then.data["value"], then.rev) == ("active", "Porto", 1)
        assert await memory.projections.list(scope(), allowed=frozenset({"goals"})) == []
        assert await memory.projections.list(scope(), allowed=frozenset({"goals"}), as_of=Revision(1)) == []
        assert await memory.projections.list(scope("ben")) == []


async def test_where_a_projection_comes_from(database_url: str) -> None:
    """Turn, observation, memory, projection."""
    async with engine(database_url) as memory:
        told = said("I live in Porto.")
        await memory.learn(scope(), told)
        [row] = await listed(memory)
        lineage = await memory.projections.trace_lineage(scope(), row.memory)
        assert [turn.id for turn in lineage.turns] == [told.id]
        assert (lineage.memory.id, lineage.projections) == (row.memory, (row,))


async def test_what_is_erased_is_in_no_row(database_url: str) -> None:
    """The receipt counts the rows that went, and what was beside them takes their place, as in a space made anew."""
    async with engine(database_url) as memory:
        await memory.ingest(scope(), [home("Porto"), home("Oslo", trust="document")])
        [first, second] = await listed(memory)
        gone = await memory.get(scope(), second.memory)
        heir = replace(gone, state="superseded", superseded_by=first.memory)
        await commit(memory, scope(), Change(action="MERGE", before=gone, after=heir))
        assert [(each.status, each.superseded_by) for each in await listed(memory)] == [
            ("active", None),
            ("superseded", first.memory),
        ]
        receipt = await memory.admin.erase(scope(), first.memory)
        assert receipt.counts["projections"] == 1
        assert not [row for row in dump(database_url) if "Porto" in row or str(first.memory) in row]
        [left] = await listed(memory)
        assert (left.status, left.superseded_by) == ("superseded", None)
        before = dump(database_url)
        assert (await memory.projections.rebuild(scope())).changed == 0
        assert dump(database_url) == before
        assert (await memory.admin.erase_space(scope())).counts["projections"] == 1
        assert dump(database_url) == []


async def test_what_a_consolidation_merges_is_superseded_in_the_same_run(database_url: str) -> None:
    """And is back after its undo."""
    async with engine(database_url) as memory:
        for single in (False, True):
            fact = Fact(kind="preference", predicate="likes", object="tomatoes on bread", single=single)
            like = Candidate(text="The user likes tomatoes on bread", category="preferences", fact=fact, importance=4)
            await memory.ingest(scope(), [like])
        run = await memory.admin.consolidate(scope())
        assert run is not None
        stays, goes = await listed(memory)
        assert (stays.status, goes.status, goes.superseded_by) == ("active", "superseded", stays.memory)
        await memory.admin.undo_consolidation(scope(), run.id)
        assert [each.status for each in await listed(memory)] == ["active", "support"]
