"""A large space in a database of many small ones, as the planner measures it: what is read of it, counted in rows."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from muniment.memory.client import Memory
from muniment.memory.domain.query import ListRequest, Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from tests.citus import databases as citus
from tests.engine import NOON, engine, note

SMALL, COUNT = 40, 1_000
ROWS = (
    40  # that an operation may read for each row of the space; one that reads the space for each row reads a thousand
)
BIG = Scope(owner="ana", tenant="big", session="s", thread="t")
QUESTION = "number 77 of the house"
OPERATIONS: dict[str, Callable[[Memory], Awaitable[Any]]] = {
    "add": lambda memory: memory.ingest(BIG, [note(f"Fact number {n} of the house") for n in range(COUNT)]),
    "record": lambda memory: memory.conversation.record(BIG, [turn(f"I like thing{n}", n) for n in range(COUNT)]),
    "learn": lambda memory: memory.learn(BIG, turn("I like thing1", 1)),
    "query": lambda memory: memory.query(BIG, "supervisor", Query(text=QUESTION)),
    "brief": lambda memory: memory.brief(BIG, "supervisor", QUESTION),
    "list": lambda memory: memory.list_page(BIG, ListRequest(limit=50)),
    "history": lambda memory: memory.history(BIG, limit=100),
    "changes": lambda memory: memory.changes(BIG),
    "export": lambda memory: memory.export(BIG),
    "verify": lambda memory: memory.verify(BIG),
    "activity": lambda memory: memory.admin.read_activity(BIG, 30),
    "consolidate": lambda memory: memory.admin.consolidate(BIG),
    "session": lambda memory: memory.sessions.get(BIG, "s"),
}

pytestmark = pytest.mark.skipif(bool(citus.WORKERS), reason="Citus plans each statement for its values")


def turn(text: str, number: int) -> Turn:
    return Turn.make(session="s", key=str(number), role="user", text=text, at=NOON, thread="t", actor="ana")


@pytest.fixture
async def superuser(database_url: str, cluster_url: str) -> Any:
    """A database in which nothing is measured but what a test has measured, with some small spaces."""
    name = psycopg.conninfo.conninfo_to_dict(database_url)["dbname"]
    with psycopg.connect(make_conninfo(cluster_url, dbname=name), autocommit=True) as connection:
        places = connection.execute(
            "select oid::regclass::text from pg_class where relnamespace = 'muniment'::regnamespace and relkind = 'r'"
        ).fetchall()
        for (place,) in places:
            connection.execute(f"alter table {place} set (autovacuum_enabled = false)".encode())
        async with engine(database_url) as memory:
            for n in range(SMALL):
                scope = replace(BIG, tenant=f"small {n}")
                await memory.ingest(scope, [note(f"Fact {fact} of tenant {n}") for fact in range(3 + n % 5)])
                await memory.conversation.record(scope, [turn("I live in Lisbon", 0), turn("I like tea", 1)])
                await memory.learn(scope, turn("I live in Lisbon", 0))
        yield connection


async def count_rows(superuser: psycopg.Connection[Any]) -> int:
    """The entries of indexes and the rows of tables that were read by connections that have ended. What the last has
    read may be counted a moment later."""
    while superuser.execute(
        "select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
    ).fetchone():
        await asyncio.sleep(0.01)
    row = superuser.execute(
        "select (select sum(idx_tup_read) from pg_stat_user_indexes),"
        " (select sum(seq_tup_read) from pg_stat_user_tables)"
    ).fetchone()
    assert row is not None
    return int(sum(row))


@pytest.mark.parametrize("measured", ["before", "after"])
async def test_nothing_reads_a_large_space_once_for_each_row(
    superuser: psycopg.Connection[Any], database_url: str, measured: str
) -> None:
    """Whether the large space was there when the planner measured the tables, or came later."""
    superuser.execute("analyze")
    read: dict[str, int] = {}
    for name, operation in OPERATIONS.items():
        if name == "query" and measured == "after":
            superuser.execute("analyze")
        before = await count_rows(superuser)
        async with engine(database_url) as memory:
            await operation(memory)
        read[name] = await count_rows(superuser) - before
    assert {name: rows for name, rows in read.items() if rows > ROWS * COUNT} == {}
    assert sum(read.values()) > 10 * COUNT, "the counts are those of this database"


def test_every_table_of_spaces_is_planned_for_large_ones(superuser: psycopg.Connection[Any]) -> None:
    missing = superuser.execute(
        "select attrelid::regclass::text from pg_attribute a join pg_class c on c.oid = a.attrelid"
        " where relnamespace = 'muniment'::regnamespace and relkind in ('r', 'p') and attname = 'space_id'"
        " and not attisdropped and attoptions is null"
    ).fetchall()
    assert missing == []
