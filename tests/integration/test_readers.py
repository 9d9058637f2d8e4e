"""Who enters a space with an allowlist of categories changes nothing, and sees nothing beside its categories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import LiteralString

import psycopg
import pytest
from psycopg import sql

from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.plan import Change, WritePlan
from muniment.memory.domain.turn import Turn
from tests.citus import databases as citus
from tests.engine import NOON, engine, note, said, scope

TOLD = [("The user rows on Sundays", "activity"), ("The user wants to row to Porto", "goals")]
STATEMENTS: tuple[LiteralString, ...] = (
    "delete from muniment.{table}",
    "delete from muniment.{table} where space_id = {space}",
    "delete from muniment.{table} where space_id = any(muniment.my_spaces())",
    "delete from muniment.{table} where ctid in (select ctid from muniment.{table})",
    "with gone as (delete from muniment.{table} returning *) select count(*) from gone",
    "update muniment.{table} set {column} = {column}",
    "update muniment.{table} set {column} = null",
    "update muniment.{table} set {column} = null where space_id = {space}",
    "update muniment.{table} set space_id = gen_random_uuid()",
    "with mine as (update muniment.{table} set {column} = {column} returning *) select count(*) from mine",
    "insert into muniment.{table} select * from muniment.{table}",
    "insert into muniment.{table} select * from muniment.{table} on conflict do nothing",
    "insert into muniment.{table} ({column}) select {column} from muniment.{table}",
    "merge into muniment.{table} t using muniment.{table} s on t.{column} = s.{column} when matched then delete",
    "truncate muniment.{table}",
)


@pytest.fixture(params=["migrations", pytest.param("citus", marks=citus.plain)])
async def told_url(database_url: str, request: pytest.FixtureRequest) -> str:
    """A database with a space that has a row in most tables; with the policies of the migrations, or with those that
    Citus gets."""
    if request.param == "citus":
        citus.restate_policies(database_url)
    async with engine(database_url) as memory:
        where = scope(thread="A")
        turns: Sequence[Turn] = [said("I live in Porto"), said("I work at Acme")]
        for turn in turns:
            await memory.learn(where, turn)
        kept = [
            (await memory.keep_candidates(where, [replace(note(text), category=category)])).changes[0].after.id
            for text, category in TOLD
        ]
        await memory.relate(where, "Ana", "rows with", "Ben")
        with psycopg.connect(database_url) as conn:
            low, high = sorted(kept)
            conn.execute(
                "insert into muniment.relations (space_id, from_id, to_id, relation_type, strength, created_at) "
                "values (%s, %s, %s, 'similar', 1, now()) on conflict do nothing",
                (where.space, low, high),
            )
        await memory.conversation.mark_seen(where, Revision(1))
    return database_url


def list_tables(conn: psycopg.Connection[tuple[str, str]]) -> list[tuple[str, str]]:
    """The tables that have a space, each with its last column."""
    return conn.execute(
        "select c.relname, (array_agg(a.attname::text order by a.attnum desc))[1] from pg_class c "
        "join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped "
        "where c.relnamespace = 'muniment'::regnamespace and c.relkind in ('r', 'p') group by 1 "
        "having bool_or(a.attname = 'space_id') order by 1"
    ).fetchall()


@pytest.fixture
def admin(told_url: str) -> Iterator[psycopg.Connection[tuple[str, str]]]:
    with psycopg.connect(told_url, autocommit=True) as conn:
        yield conn


def enter(conn: psycopg.Connection[tuple[str, str]], allowed: list[str] | None) -> None:
    conn.execute("select muniment.enter_space(%s, %s)", (scope().space, allowed))
    conn.execute("set local role muniment_app")


def read_contents(conn: psycopg.Connection[tuple[str, str]]) -> dict[str, list[str]]:
    """Every row of every table, as the owner sees it."""
    tables = [name for name, _ in list_tables(conn)]
    return {
        name: sorted(
            row[0]
            for row in conn.execute(
                sql.SQL("select t::text from muniment.{} t").format(sql.Identifier(name))
            ).fetchall()
        )
        for name in tables
    }


async def test_a_reader_changes_nothing(told_url: str, admin: psycopg.Connection[tuple[str, str]]) -> None:
    """Of over 200 statements on all tables none changes a row, whether it is refused or finds nothing to change."""
    before, tried = read_contents(admin), 0
    assert sum(map(bool, before.values())) >= 8
    for table, column in list_tables(admin):
        for statement in STATEMENTS:
            names = {"table": sql.Identifier(table), "column": sql.Identifier(column)}
            text = sql.SQL(statement).format(space=sql.Literal(scope().space), **names)
            with psycopg.connect(told_url) as conn:
                try:
                    enter(conn, ["activity", "profile"])
                    conn.execute(text)
                    conn.commit()
                except psycopg.Error:
                    conn.rollback()
            tried += 1
    assert tried >= 200
    assert read_contents(admin) == before


async def test_a_reader_sees_its_categories_alone(told_url: str) -> None:
    """Among the versions and the edges, too; without an allowlist all is seen."""
    with psycopg.connect(told_url) as conn:
        counted: dict[str, dict[str, int]] = {}
        for name, allowed in (("all", None), ("activity", ["activity"]), ("none", [])):
            with conn.transaction():
                enter(conn, allowed)
                counted[name] = {
                    table: len(
                        conn.execute(sql.SQL("select from muniment.{}").format(sql.Identifier(table))).fetchall()
                    )
                    for table in (
                        "memories", "memory_versions", "relations", "turns", "events", "extractions", "journal",
                        "change_log", "history", "thread_revision",
                    )
                }  # fmt: skip
    assert counted["all"]["memories"] > counted["activity"]["memories"] > 0
    assert counted["all"]["relations"] > counted["activity"]["relations"]
    assert set(counted["none"].values()) == {0}
    assert counted["all"]["journal"] > counted["activity"]["journal"] == counted["activity"]["history"] > 0
    assert counted["all"]["thread_revision"] == 1
    hidden = ("turns", "events", "extractions", "thread_revision")
    assert [counted["activity"][table] for table in hidden] == [0, 0, 0, 0]


async def test_a_line_has_the_category_of_its_time(told_url: str) -> None:
    """A memory that moved to another category shows each reader the lines of its own, and so does one that was
    erased; a thread's cursor still tells how far it has looked."""
    async with engine(told_url) as memory:
        where = scope(thread="A")
        kept = (await memory.list(where, categories=["activity"]))[0]
        rev = Revision((await memory.read_status(where))["rev"])
        change = Change(action="UPDATE", before=kept, after=replace(kept, category="projects"))
        plan = WritePlan(scope=where, expected_rev=rev, node="face", at=NOON, changes=(change,))
        await memory.engine.store.writes.commit(plan)
        moved = {name: await read_lines(told_url, [name], kept.id) for name in ("activity", "projects", "goals")}
        assert moved == {"activity": ["ADD"], "projects": ["UPDATE"], "goals": []}
        await memory.admin.erase(where, kept.id)
        assert (await read_lines(told_url, ["projects"], kept.id))[-1] == "DELETE"
        assert await read_lines(told_url, ["goals"], kept.id) == []


async def read_lines(url: str, allowed: list[str], memory: MemoryId) -> list[str]:
    with psycopg.connect(url) as conn:
        enter(conn, allowed)
        query = "select action from muniment.journal where memory_id = %s order by rev"
        return [row[0] for row in conn.execute(query, (memory,)).fetchall()]
