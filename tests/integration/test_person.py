"""All that is kept of one person: every table of spaces, row by row, and nothing of anybody else."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import psycopg
import psycopg.sql
import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.layers.person import (
    DOSSIER_PARTS,
    EXPORTED_TABLES,
    IMPERSONAL_TABLES,
    MEMORY_PARTS,
    PERSON_TABLES,
    PersonRow,
)
from muniment.memory.domain.memory import STATES
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.rules.provenance.recalls import RecallIndex
from muniment.testing.fakes import FixedClock
from tests.canaries import Canary, plant
from tests.engine import NOON, engine, note, said, scope

ANA = Canary(said="quince", named="Ana")
BO = Canary(said="medlar", named="Bo")
MEMORIES = 2_000
_SPACE_TABLES = """
    select c.table_name
    from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'muniment' and t.table_type = 'BASE TABLE' and c.column_name = 'space_id'"""


def count_in_sql(url: str, who: Scope) -> dict[str, int]:
    """The number of rows of a space in every table that has a space, by a superuser."""
    with psycopg.connect(url) as admin:
        tables = [name for (name,) in admin.execute(_SPACE_TABLES).fetchall()]
        counts = {}
        for name in tables:
            query = psycopg.sql.SQL("select count(*) from muniment.{} where space_id = %s")
            row = admin.execute(query.format(psycopg.sql.Identifier(name)), [who.space]).fetchone()
            counts[name] = row[0] if row else 0
    return counts


async def read_dossier(memory: Memory, who: Scope) -> list[PersonRow]:
    return [each async for each in memory.personal_data.stream_dossier(who)]


def count_rows(rows: list[PersonRow]) -> dict[str, int]:
    """How many rows of each table a dossier has."""
    counts = Counter(each.part for each in rows)
    memories = [each.row for each in rows if each.part in MEMORY_PARTS]
    found = {name: counts[name] for name in PERSON_TABLES}
    return found | {"memories": len(memories), "memory_versions": sum(len(row["former"]) for row in memories)}


async def test_every_table_of_spaces_is_a_persons_or_says_why_not(database_url: str) -> None:
    """A dossier is complete against a plain count of every table: a new table has to be decided on."""
    with psycopg.connect(database_url) as admin:
        tables = {name for (name,) in admin.execute(_SPACE_TABLES).fetchall()}
    assert set(PERSON_TABLES) | set(IMPERSONAL_TABLES) == tables
    assert not set(PERSON_TABLES) & set(IMPERSONAL_TABLES)
    assert set(PERSON_TABLES) >= EXPORTED_TABLES
    as_memories = {"memories", "memory_versions"}
    assert {*DOSSIER_PARTS} == {*PERSON_TABLES, *MEMORY_PARTS} - as_memories
    assert sorted(state for states in MEMORY_PARTS.values() for state in states) == sorted(STATES)


@pytest.mark.timeout(300)
async def test_a_dossier_has_every_row_of_a_person_and_nothing_of_another(database_url: str) -> None:
    """A user with 2,000 memories: complete against a plain SQL count of every table, and nothing of another person's
    space in it."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        held = await plant(memory, ANA, clock)
        await plant(memory, BO, clock)
        clock.advance(60)
        await memory.ingest(ANA.scope, [note(f"Walked to tower {number} in Porto") for number in range(MEMORIES)])
        await memory.ingest(BO.scope, [note(f"Rowed to buoy {number} off Bergen") for number in range(50)])
        await memory.forget(ANA.scope, held)
        shed = (await memory.remember(ANA.scope, "The attic has a leak")).changes[0].after.id
        await memory.admin.erase(ANA.scope, shed)
        rows = await read_dossier(memory, ANA.scope)
        export = [row async for row in memory.personal_data.stream_export(ANA.scope)]
        archive = [each async for each in memory.personal_data.stream_archive(ANA.scope)]
        assert export == list(await memory.export(ANA.scope))
    counts = count_in_sql(database_url, ANA.scope)
    own = {name: count for name, count in counts.items() if name in PERSON_TABLES}
    assert own["memories"] >= MEMORIES
    assert count_rows(rows) == own
    assert rows[0].part == "person"
    assert rows[0].row["counts"] == own
    empty = sorted(name for name in own if not own[name])
    # The erasure has taken the replies; of the others nothing is of a user's own space.
    assert empty == ["bisect_replies", "proxy_days", "shares"]
    assert Counter(each.part for each in archive if each.part != "export") == Counter(
        {name: count for name, count in own.items() if count and name not in EXPORTED_TABLES}
    )
    assert [each.row for each in archive if each.part == "export"] == export
    text = repr(rows) + repr(archive)
    assert "quince" in text
    assert "medlar" not in text.casefold()
    assert "buoy" not in text
    assert str(BO.scope.space) not in text


async def test_what_models_were_told_is_counted_for_each_memory(database_url: str) -> None:
    """Who was told: each time at which what a memory says, or said before, was put before a model."""
    async with engine(database_url) as memory:
        who = replace(scope(), thread="t")
        learned = [await memory.learn(who, said(text)) for text in ("I live in Porto.", "I am allergic to nuts.")]
        home, nuts = (each.changes[0].after for each in learned)
        shown = memory.conversation.shingle_hashes(f"Known:\n{home.text}\nand more")
        turns = [
            Turn.make(session="s", thread="t", key=key, role="assistant", text="Noted.", at=NOON, recalled=shown)
            for key in ("a", "b")
        ]
        await memory.conversation.record(who, turns)
        await memory.learn(who, said("I moved to Bergen. I live in Bergen."))
        told: dict[str, Any] = {
            each.row["memory_id"]: each.row["told"]["count"]
            for each in await read_dossier(memory, who)
            if each.part in MEMORY_PARTS
        }
    assert told[str(home.id)] == 2
    assert told[str(nuts.id)] == 0


def test_a_text_is_found_where_all_of_its_word_sequences_are() -> None:
    """The index names exactly the memories whose words were all there."""
    from muniment.memory.rules.provenance.quoted import hash_shingles

    index = RecallIndex()
    ids = [scope(f"u{number}").space for number in range(3)]
    for id_, text in zip(ids, ("The user lives in Porto", "The user lives in Oslo", ""), strict=True):
        index.add_text(id_, text)
    assert list(index.find_memories(hash_shingles(["So: the user lives in Porto, near the river"]))) == [ids[0]]
    assert list(index.find_memories(())) == []
    index.add_text(ids[2], "Otters swim at dawn")
    assert list(index.find_memories(hash_shingles(["Otters eat fish"]))) == []
    assert list(index.find_memories(hash_shingles(["Otters swim at dawn"]))) == [ids[2]]
