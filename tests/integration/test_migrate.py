"""Migrations are applied once, in order, by one process at a time, and never edited."""

import asyncio
from pathlib import Path

import psycopg
import pytest

from muniment.memory.errors import BadConfig, EditedMigration, StoreDown, StoreError
from muniment.memory.stores.postgres.schema.migrate import apply_migrations

FIRST = "create table one (id int primary key)"
SECOND = "create table two (id int primary key); insert into two values (100 % 7)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "0001_one.sql").write_text(FIRST)
    (tmp_path / "0002_two.sql").write_text(SECOND)
    (tmp_path / "schema.sql").write_text("this is no migration")
    return tmp_path


async def tables(url: str) -> set[str]:
    async with await psycopg.AsyncConnection.connect(url) as conn:
        rows = await (await conn.execute("select tablename from pg_tables where schemaname = 'public'")).fetchall()
    return {name for (name,) in rows}


async def test_the_package_is_applied_once(empty_database_url: str) -> None:
    """The package's own migrations apply to an empty database, in order, and then there is nothing to do."""
    applied = await apply_migrations(empty_database_url)
    assert applied == sorted(applied)
    assert applied
    assert await apply_migrations(empty_database_url) == []


async def test_a_new_file_is_applied_alone(empty_database_url: str, folder: Path) -> None:
    """A file that was added later is the only one applied."""
    await apply_migrations(empty_database_url, folder)
    (folder / "0003_three.sql").write_text("create table three (id int)")
    assert await apply_migrations(empty_database_url, folder) == ["0003_three.sql"]
    assert await tables(empty_database_url) == {"one", "two", "three", "schema_migrations"}


async def test_eight_at_once(empty_database_url: str, folder: Path) -> None:
    """Of eight that migrate together, every file is applied by exactly one."""
    done = await asyncio.gather(*(apply_migrations(empty_database_url, folder) for _ in range(8)))
    assert sorted(name for names in done for name in names) == ["0001_one.sql", "0002_two.sql"]


async def test_an_edited_file_is_refused(empty_database_url: str, folder: Path) -> None:
    """A file that differs from what was applied is named, and nothing else is applied."""
    await apply_migrations(empty_database_url, folder)
    (folder / "0001_one.sql").write_text(FIRST + " -- better")
    (folder / "0003_three.sql").write_text("create table three (id int)")
    with pytest.raises(EditedMigration, match=r"0001_one\.sql"):
        await apply_migrations(empty_database_url, folder)
    assert "three" not in await tables(empty_database_url)


async def test_line_ends_are_no_edit(empty_database_url: str, folder: Path) -> None:
    """A checkout with other line ends has the same checksums."""
    (folder / "0001_one.sql").write_bytes(b"create table one (\n id int\n)")
    await apply_migrations(empty_database_url, folder)
    (folder / "0001_one.sql").write_bytes(b"create table one (\r\n id int\r\n)")
    assert await apply_migrations(empty_database_url, folder) == []


async def test_a_newer_database_is_refused(empty_database_url: str, folder: Path) -> None:
    """Older code does not touch a database that newer code has migrated."""
    await apply_migrations(empty_database_url, folder)
    (folder / "0002_two.sql").unlink()
    with pytest.raises(BadConfig, match=r"newer.*0002_two\.sql"):
        await apply_migrations(empty_database_url, folder)


async def test_a_failing_file_leaves_no_trace(empty_database_url: str, folder: Path) -> None:
    """A file that fails half-way is rolled back and named; those before it stay; fixed, it applies."""
    (folder / "0002_two.sql").write_text("create table two (id int); insert into nowhere values (1)")
    with pytest.raises(StoreError, match=r"0002_two\.sql.*nowhere"):
        await apply_migrations(empty_database_url, folder)
    assert await tables(empty_database_url) == {"one", "schema_migrations"}
    (folder / "0002_two.sql").write_text(SECOND)
    assert await apply_migrations(empty_database_url, folder) == ["0002_two.sql"]


@pytest.mark.parametrize("name", ["3_three.sql", "0003-three.sql", "0002_other.sql"])
async def test_a_bad_name_is_refused(empty_database_url: str, folder: Path, name: str) -> None:
    """A file without a number of its own would be applied in no order: it is named."""
    (folder / name).write_text("select 1")
    with pytest.raises(BadConfig, match=name):
        await apply_migrations(empty_database_url, folder)


async def test_no_server(tmp_path: Path, folder: Path) -> None:
    """A database that cannot be reached is `StoreDown`."""
    with pytest.raises(StoreDown):
        await apply_migrations(f"host={tmp_path} dbname=muniment", folder)


async def test_errors_carry_no_rows(empty_database_url: str, folder: Path) -> None:
    """Neither the value that did not fit nor the failing row shows in the error or behind it."""
    for number, statement in enumerate(("select 'topsecret'::int", "insert into two values (2), (2)"), start=3):
        (folder / f"000{number}_bad.sql").write_text(f"create table t{number} (); {statement}")
        with pytest.raises(StoreError) as caught:
            await apply_migrations(empty_database_url, folder)
        (folder / f"000{number}_bad.sql").unlink()
        assert "topsecret" not in str(caught.value)
        assert "(2)" not in str(caught.value)
        assert caught.value.__suppress_context__
