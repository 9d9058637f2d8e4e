"""A database of the version before seals: its migration seals what is there, and says from where on."""

from __future__ import annotations

import shutil
from importlib.resources import files
from pathlib import Path

import psycopg
from psycopg import sql

from muniment.memory.stores.postgres.schema.migrate import NAME, apply_migrations
from tests.engine import engine, note, scope
from tests.erasing import kept
from tests.integration.test_erasure import lived
from tests.seals.test_seals import verified

LAST_WITHOUT_SEALS = "0048"
TABLES = ("embedders", "tenant_embedders", "spaces", "memories", "memory_versions", "journal")


def copy_rows(source: str, target: str) -> None:
    """Copy the columns that both databases have, as a dump would."""
    with psycopg.connect(source) as old, psycopg.connect(target) as new:
        new.execute("set session_replication_role = replica")
        for table in TABLES:
            place = sql.Identifier("muniment", table)
            new.execute(sql.SQL("delete from {}").format(place))
            columns = [
                row[0]
                for row in new.execute(
                    "select attname from pg_attribute"
                    " where attrelid = %s::regclass and attnum > 0 and not attisdropped",
                    (f"muniment.{table}",),
                )
            ]
            listed = sql.SQL(", ").join(map(sql.Identifier, columns))
            with (
                old.cursor().copy(sql.SQL("copy (select {} from {}) to stdout").format(listed, place)) as out,
                new.cursor().copy(sql.SQL("copy {} ({}) from stdin").format(place, listed)) as into,
            ):
                for block in out:
                    into.write(block)


async def test_a_database_without_seals_is_sealed_when_it_is_migrated(
    database_url: str, empty_database_url: str, tmp_path: Path
) -> None:
    """Must hold: existing journals are sealed by a migration that says from where on. Nothing is found in them, later
    lines are sealed as they are written, and a change of what the migration sealed is found."""
    package = files("muniment.migrations")
    for file in package.iterdir():
        if NAME.fullmatch(file.name) and file.name[:4] <= LAST_WITHOUT_SEALS:
            shutil.copyfile(str(file), tmp_path / file.name)
    await apply_migrations(empty_database_url, tmp_path)
    people = [scope(), scope("ben"), scope("cleo")]
    async with engine(database_url) as memory:
        await memory.admin.erase(scope(), await lived(memory))
        await memory.ingest(scope("ben"), [note(f"Entry {n}") for n in range(300)])
        await kept(memory, "The piano is sold", scope("cleo"))
        revs = [(await memory.admin.verify(who)).rev for who in people]
    copy_rows(database_url, empty_database_url)
    with psycopg.connect(empty_database_url) as admin:  # a memory that an older restore left without a line
        admin.execute("delete from muniment.journal where space_id = %s and rev = 7", (scope("ben").space,))
    assert (await apply_migrations(empty_database_url))[0].startswith("0049")
    async with engine(empty_database_url) as memory:
        for who, rev in zip(people, revs, strict=True):
            report = await verified(memory, who)
            assert report.sealed_from == report.rev == rev
            await kept(memory, f"{who.owner} plays the harp", who)
            later = await verified(memory, who)
            assert (later.rev, later.sealed_from) == (rev + 1, rev)
        with psycopg.connect(empty_database_url) as admin:
            admin.execute(
                "update muniment.memories set text = 'Entry -1' where space_id = %s and rev = 120",
                (scope("ben").space,),
            )
            admin.execute("delete from muniment.memories where space_id = %s and rev = 1", (scope("cleo").space,))
        found = [(await memory.admin.verify(who)).first for who in people]
        assert [found and (found.rev, found.kind) for found in found] == [None, (120, "changed"), (1, "removed")]
