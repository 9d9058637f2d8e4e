"""Consolidation by class in a database: what a run, a decision and the journal say, what is protected, orphans."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import psycopg

from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.memory import Fact
from muniment.memory.domain.turn import Candidate
from tests.engine import engine, note
from tests.twins import ANA, TWINS, active


def ask(url: str, query: str, *values: Any) -> list[Any]:
    """The rows of a query, past every policy."""
    with psycopg.connect(url, autocommit=True) as conn:
        cursor = conn.execute(query, values)
        return cursor.fetchall() if cursor.description else []


def home(place: str) -> Candidate:
    """Where the user lives, as a row of an import."""
    fact = Fact(kind="identity", predicate="lives_in", object=place, single=False, location=place)
    return Candidate(text=f"The user lives in {place}", category="profile", fact=fact, turns=(TurnId(uuid4()),))


async def test_a_run_names_its_classes(database_url: str) -> None:
    """In its record, beside each pair and in the journal; undoing it leaves the record."""
    async with engine(database_url) as memory:
        await memory.ingest(ANA, [note(TWINS[0]), note(TWINS[1]), note("The user reads a book about bees")])
        run = await memory.admin.consolidate(ANA)
        assert run is not None
        assert sum(run.classes.values()) == run.checked
        assert run.classes.keys() <= {"duplicate", "refinement"}
        assert (await memory.admin.list_runs(ANA))[0].classes == run.classes
        classes = {name for (name,) in ask(database_url, "select class from muniment.pair_fingerprints")}
        assert classes == set(run.classes)
        told = ask(database_url, "select distinct meta ->> 'class' from muniment.journal where action = 'MERGE'")
        assert {name for (name,) in told} == classes
        assert (await memory.admin.undo_consolidation(ANA, run.id)).restored == 2
        assert len(await active(memory)) == 3


async def test_what_is_pinned_is_never_merged_away(database_url: str) -> None:
    """Its twin gives way; of two that are pinned both stay, and the class is counted all the same."""
    async with engine(database_url) as memory:
        await memory.ingest(ANA, [note(TWINS[0], pinned=True), note(TWINS[1], pinned=True)])
        run = await memory.admin.consolidate(ANA)
        assert run is not None
        assert (run.same, run.distinct, sum(run.classes.values())) == (0, 1, 1)
        assert len(await active(memory)) == 2


async def test_orphans_are_cleaned(database_url: str) -> None:
    """What is of a memory that is gone goes with the next maintenance; what has its memory stays."""
    async with engine(database_url) as memory:
        await memory.ingest(ANA, [home("Porto"), note(TWINS[0]), note(TWINS[1])])
        await memory.admin.consolidate(ANA)
        counts = "select (select count(*) from muniment.pair_fingerprints), (select count(*) from muniment.projections)"
        kept = ask(database_url, counts)
        ask(
            database_url,
            "insert into muniment.pair_fingerprints (space_id, low_id, high_id, score, judgement, source, run_id,"
            " checked_at) select space_id, '00000000-0000-0000-0000-000000000001', memory_id, 50, 'different', 'rules',"
            " memory_id, now() from muniment.memories",
        )
        ask(
            database_url,
            "insert into muniment.observations (space_id, observation_id, kind, stable_key, statement, category,"
            " confidence, importance, trust, turns, found_by, memory_id, outcome, rev, at)"
            " select space_id, gen_random_uuid(), 'user_fact', 'k', 's', category, 1, 1, 'user', '{}', 'rules',"
            " gen_random_uuid(), 'ADD', rev, now() from muniment.memories limit 1",
        )
        ask(
            database_url,
            "insert into muniment.projections (space_id, projection_id, type, key, memory_id, status, title, data,"
            " category, trust, memories, rev, at) select space_id, gen_random_uuid(), type, 'another',"
            " gen_random_uuid(), status, title, data, category, trust, memories, rev, at from muniment.projections"
            " limit 1",
        )
        await memory.admin.maintain(ANA)
        assert ask(database_url, counts) == kept
        gone = (
            "select count(*) from muniment.observations o where memory_id is not null and not exists ("
            "select from muniment.memories m where m.space_id = o.space_id and m.memory_id = o.memory_id)"
        )
        assert ask(database_url, gone) == [(0,)]
