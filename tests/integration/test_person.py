"""All that is kept of one person: every table of spaces, row by row, and nothing of anybody else."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any
from uuid import uuid4

import psycopg
import psycopg.errors
import psycopg.sql
import pytest

from muniment.graph.checkpointer import open_saver
from muniment.memory import bootstrap
from muniment.memory.bootstrap.console_sessions import make_console_sessions
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


_ADD_SPACE = """
    insert into muniment.spaces (space_id, tenant_id, owner_id, owner_type, created_at)
    values (%(space)s, %(tenant)s, %(owner)s, 'user', now())"""
_ADD_TOKEN = """
    insert into muniment.tokens (token_id, digest, tenant_id, owner_id, agents, scopes, created_at)
    values (gen_random_uuid(), %(digest)s, %(tenant)s, %(owner)s, '{}', '{read}', now())"""
_OTHER_TABLES = """
    select table_schema || '.' || table_name from information_schema.tables t
    where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema') and not exists (
      select from information_schema.columns c
      where (c.table_schema, c.table_name) = (t.table_schema, t.table_name) and c.column_name = 'space_id')"""
# A table that is in no space -> how a person's file has what it holds of them, or why there is nothing.
OTHER_TABLES = {
    "muniment.tokens": "each that opens the memory is named under who could read",
    "muniment.console_sessions": "each login is named under its token",
    "muniment.token_configs": "how a token of the proxy is set up, by its operator",
    "muniment.embedders": "the models of the installation",
    "muniment.tenant_embedders": "the models of a tenant",
    "muniment.setting_changes": "settings of the installation",
    "muniment.setting_overrides": "settings of the installation",
    "public.schema_migrations": "the versions of the schema",
    "jobs.queue": "what is to be done next: ids, and never a text",
    "jobs.slots": "times of periodic jobs",
    "jobs.workers": "processes",
    "checkpoints.checkpoints": "the last state of each thread",
    "checkpoints.checkpoint_blobs": "as those",
    "checkpoints.checkpoint_writes": "as those",
    "checkpoints.checkpoint_migrations": "the versions of these tables",
    "checkpoints.janitor": "when these tables were last cleaned",
}


async def test_every_table_without_a_space_is_placed(database_url: str) -> None:
    """Complete against the catalogue: a table of any schema that has no space is placed, too, before it is made."""
    async with open_saver(database_url):
        pass  # which makes the tables of checkpoints
    with psycopg.connect(database_url) as admin:
        tables = {name for (name,) in admin.execute(_OTHER_TABLES).fetchall()}
    assert tables - {"public.policies_before_citus"} == set(OTHER_TABLES)  # of a cluster's script


async def test_who_could_read_is_told_of_tokens_logins_and_shares(database_url: str) -> None:
    """Who could read it, now and at the time of each memory: tokens with their periods and logins, without a digest,
    those of other people and tenants left out; and what the person reads beside."""
    clock, who = FixedClock(NOON), scope("ana")
    async with (
        engine(database_url, clock=clock) as memory,
        bootstrap.open_tokens(memory.engine.settings, clock, as_owner=True) as tokens,
        bootstrap.open_shares(memory.engine.settings, clock) as shares,
    ):
        tenant = who.tenant
        given: list[dict[str, Any]] = [
            {"owner": "ana"},
            {"owner": "ana", "agents": ("planner",)},
            {"owner": "ana", "scopes": ("write",)},
            {"owner": "ana", "projects": ("garden",)},
            {"owner": None, "scopes": ("admin",)},
        ]
        grants = [(await tokens.issue_token(tenant=tenant, **grant))[1] for grant in given]
        await tokens.issue_token(tenant=tenant, owner="bo")
        await tokens.issue_token(tenant="elsewhere", owner="ana")
        await make_console_sessions(tokens).open_session(grants[4].id)
        assert not [each async for each in memory.personal_data.stream_dossier(who) if each.part != "person"]
        early = (await memory.remember(who, "The blue folder is in the attic")).changes[0].after
        clock.advance(60)
        await tokens.revoke_token(grants[0].id)
        clock.advance(60)
        late = (await memory.remember(who, "The red folder is in the cellar")).changes[0].after
        await shares.grant_share(replace(who, owner="garden", owner_type="project"), who, by="bo")
        rows = await read_dossier(memory, who)
    person, told = rows[0].row, {each.row["memory_id"]: each.row for each in rows if each.part == "memory"}
    listed = {each["token_id"]: each for each in person["access"]["tokens"]}
    assert set(listed) == {str(grant.id) for grant in grants}
    assert "digest" not in repr(person["access"])
    assert [len(listed[str(grant.id)]["logins"]) for grant in grants] == [0, 0, 0, 0, 1]
    assert listed[str(grants[0].id)]["revoked_at"]
    own, planner, _, _, operator = (str(grant.id) for grant in grants)
    assert early.category == late.category
    reads = [planner] if early.category in person["readers"] and "planner" in person["readers"][early.category] else []
    assert set(told[str(early.id)]["tokens"]) == {own, operator, *reads}
    assert set(told[str(late.id)]["tokens"]) == {operator, *reads}
    assert [(each["owner"], each["granted_by"]) for each in person["access"]["beside"]] == [("garden", "bo")]


def test_readers_are_told_of_the_entered_space_alone(database_url: str) -> None:
    """Nothing of another person: the application learns of tokens by the space that it has entered, and of none with
    an allowlist of categories or without a space."""
    with psycopg.connect(database_url, autocommit=True) as admin:
        for owner in ("ana", "bo"):
            values = {
                "space": scope(owner).space,
                "tenant": scope().tenant,
                "owner": owner,
                "digest": uuid4().bytes * 2,
            }
            admin.execute(_ADD_SPACE, values)
            admin.execute(_ADD_TOKEN, values)
        ana = scope("ana").space
        for entered, owners in (
            (f"select muniment.enter_space('{ana}')", ["ana"]),
            (f"select muniment.enter_space('{ana}', '{{profile}}')", []),
            ("select 1", []),
        ):
            with admin.transaction():
                admin.execute("select set_config('role', 'muniment_app', true)")  # which Citus leaves alone
                admin.execute(entered)
                row = admin.execute("select muniment.describe_readers()").fetchone()
                assert row
                assert [each["owner"] for each in row[0]["tokens"]] == owners
        admin.execute("set role muniment_app")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            admin.execute("select muniment.list_openings(%s, 'bo', %s)", [scope().tenant, ana])


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
