"""The table of a memory's columns: the schema and its functions agree with it, and a new row is all that Python
needs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

import muniment
from muniment.memory.stores.postgres.memory_columns import COLUMNS, CONTENT, STORE_COLUMNS
from tests.citus import databases

PACKAGE = Path(muniment.__file__).parent
CITUS = (PACKAGE / "migrations/citus/functions.sql").read_text(encoding="utf-8")
TYPES = {
    "smallint": "int2",
    "int": "int4",
    "bigint": "int8",
    "real": "float4",
    "boolean": "bool",
    "text[]": "_text",
    "uuid[]": "_uuid",
}
INSERT = re.compile(
    r"insert into muniment\.(memories|memory_versions) \(([^)]*)\)\s*(?:select|values \()(.*?)(?:\)?;|\n +from )",
    re.DOTALL,
)
# What a change of a memory leaves as it is.
FIXED = {"memory_id", "agent_id", "run_id", "created_at"}


def functions(database_url: str) -> str:
    with psycopg.connect(database_url) as conn:
        row = conn.execute("select pg_get_functiondef('muniment.write_changes'::regproc)").fetchone()
    assert row is not None
    return str(row[0])


def test_the_tables_have_the_columns(database_url: str) -> None:
    columns = """
        select table_name, column_name, udt_name from information_schema.columns
        where table_schema = 'muniment' and table_name in ('memories', 'memory_versions')
    """
    types = {column.name: TYPES.get(column.type, column.type) for column in COLUMNS}
    with psycopg.connect(database_url) as conn:
        found = conn.execute(columns).fetchall()
    of_table = {
        table: {name: type_ for owner, name, type_ in found if owner == table and name not in STORE_COLUMNS}
        for table in ("memories", "memory_versions")
    }
    assert of_table["memories"] == types
    versioned = {column.name: types[column.name] for column in CONTENT} | {"from_rev": "int8", "to_rev": "int8"}
    assert of_table["memory_versions"] == versioned
    assert {name for _, name, _ in found} >= set(STORE_COLUMNS)


@pytest.mark.parametrize("citus", [pytest.param(False, marks=databases.plain), True])
def test_the_functions_write_the_columns(database_url: str, *, citus: bool) -> None:
    """Each list of columns is whole, and each value stands at the place of its column."""
    text = CITUS if citus else functions(database_url)
    inserts = INSERT.findall(text)
    assert [table for table, _, _ in inserts] == (
        ["memory_versions", "memories", "memories"] if citus else ["memories", "memory_versions", "memories"]
    )
    content = [column.name for column in CONTENT]
    for table, names, values in inserts:
        columns = [name.strip() for name in names.split(",")]
        own = {"from_rev", "to_rev"} if table == "memory_versions" else {"access_count", "rev"}
        assert set(columns) - set(STORE_COLUMNS) == {*content, *own}
        alias = "b" if table == "memory_versions" else "m"
        taken = dict(zip(columns, (value.strip() for value in values.split(",")), strict=False))
        assert {name: taken[name] for name in content} == {name: f"{alias}.{name}" for name in content}
    updated = {name for name, of in re.findall(r"(\w+) = excluded\.(\w+)", text) if name == of}
    assert updated & {*content} == {*content} - FIXED


# A program against a copy of the package that has one column more: what it prints was read back each way.
PROGRAM = """
import asyncio, json, sys
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from muniment.memory.codec import encode_record
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Change, WritePlan
from muniment.memory.domain.query import Filters, ListRequest
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.search import NeighbourProbe, Search, Weights
from muniment.memory.models.hash_embedder import hash_vector
from muniment.memory.stores.postgres.schema.migrate import apply_migrations
from muniment.memory.stores.postgres.store import PostgresStore

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
WEIGHTS = Weights(floor=0.1, ceiling=0.9, semantic=1, keyword=0, actor=0, own=0, timely=0, before=1, after=1, traits={})
VECTOR = hash_vector("The user likes tea.")


def change(n, note, before=None):
    after = before or StoredMemory(id=MemoryId(UUID(int=n)), kind="semantic", category="goals", created_at=NOON,
                                   updated_at=NOON, text="The user likes tea.")
    return Change(action="UPDATE" if before else "ADD", before=before, after=replace(after, note=note), vector=VECTOR)


def plan(scope, expected, *changes):
    return WritePlan(scope=scope, expected_rev=Revision(expected), node="face", at=NOON, changes=changes)


async def main(url):
    async def address():
        return url

    assert await apply_migrations(url) == ["0099_note.sql"]
    store, seen = PostgresStore(address, model="hash-256"), {}
    ana, ben, cyd = (Scope(tenant="t", owner=name) for name in ("ana", "ben", "cyd"))
    reader = Reader(scope=ana, allowed=frozenset({"goals"}))

    async def note(scope, n=1, as_of=None):
        memory = await store.reads.get_memory(replace(reader, scope=scope), MemoryId(UUID(int=n)), as_of=as_of)
        return memory.note

    receipt = await store.writes.commit(plan(ana, 0, change(1, "first")))
    seen["commit"] = await note(ana)
    await store.writes.commit(plan(ana, 1, change(1, "second", receipt.changes[0].after)))
    seen["change"], seen["as of"] = await note(ana), await note(ana, as_of=Revision(1))
    search = Search(vector=VECTOR, terms=(), categories=("goals",), filters=Filters(), candidates=5, weights=WEIGHTS)
    for name, as_of in (("search", None), ("search as of", Revision(1))):
        seen[name] = (await store.reads.read_snapshot(reader, search, as_of=as_of)).hits[0].memory.note
    probe = NeighbourProbe(vector=VECTOR, kind="semantic")
    seen["neighbour"] = (await store.reads.find_neighbours(ana, [probe], 5))[1][0][0].memory.note
    bulk = plan(ben, 0, change(2, "in bulk"), change(3, None))
    await store.writes.insert_packed(bulk, await store.writes.pack_rows(bulk))
    seen["bulk"] = [await note(ben, n) for n in (2, 3)]
    dump = await store.writes.dump_space(ana)
    seen["export"] = [row["note"] for row in dump.rows if row["type"] in ("memory", "version")]
    await store.writes.load_space(cyd, dump, [VECTOR, VECTOR])
    seen["import"] = [await note(cyd), await note(cyd, as_of=Revision(1))]
    seen["content"] = [row["note"] for row in await store.writes.read_content(cyd)]
    seen["json"] = encode_record(await store.reads.get_memory(reader, MemoryId(UUID(int=1))))["note"]
    await store.close()
    print(json.dumps(seen))


asyncio.run(main(sys.argv[1]))
"""


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_column_is_added_in_one_place(database_url: str, tmp_path: Path) -> None:
    """A field, a migration and a row of the table: then every way in writes the column, and every way out reads it."""
    package = tmp_path / "muniment"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    turns = "    turns: tuple[TurnId, ...] = ()  # the turns that support it\n"
    edit(package / "memory/domain/memory.py", turns, f"{turns}    note: str | None = None\n")
    row = ")  # fmt: skip\n# What a plan says"
    table = package / "memory/stores/postgres/memory_columns.py"
    edit(table, row, f'    MemoryColumn("note", "text", "note"),\n{row}')
    function = re.sub(r"\b(m\.|b\.|)context\b(?=,)", r"\1context, \1note", functions(database_url))
    function = function.replace("context = excluded.context, note", "context = excluded.context, note = excluded.note")
    columns = "".join(
        f"alter table muniment.{table} add column note text;\n" for table in ("memories", "memory_versions")
    )
    migration = f"{columns}{function};\n"
    (package / "migrations/0099_note.sql").write_text(migration, encoding="utf-8")

    command = [sys.executable, "-c", PROGRAM, database_url]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "commit": "first",
        "change": "second",
        "as of": "first",
        "search": "second",
        "search as of": "first",
        "neighbour": "second",
        "bulk": ["in bulk", None],
        "export": ["second", "first"],
        "import": ["second", "first"],
        "content": ["second"],
        "json": "second",
    }
