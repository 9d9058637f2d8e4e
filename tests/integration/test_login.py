"""The engine's login: it owns nothing, does everything, and sees no row more whatever role it changes to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.json import Jsonb

from muniment.graph import checkpointer
from muniment.memory import bootstrap
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.query import Query
from muniment.memory.errors import BadConfig, BadInput, Denied, NotFound
from muniment.memory.stores.postgres.schema import grants
from muniment.memory.stores.postgres.schema.migrate import apply_migrations
from tests.engine import engine, note, said, scope, settings
from tests.logins import LOGIN, build_login_url

ROLES = ("muniment_app", "muniment_keeper", "muniment_eraser", "muniment_worker")
CHANGES = (
    "reset role", "set role none", "set local role none", "set session authorization default", "discard all",
    "reset session authorization", *(f"set role {role}" for role in ROLES), "set role muniment",
    "set session authorization muniment", *(f"set session authorization {role}" for role in ROLES),
)  # fmt: skip
EMBEDDERS = (
    "insert into muniment.embedders (model, active) values ('other', false)",
    "update muniment.embedders set active = false",
    "update muniment.embedders set model = 'other'",
    "delete from muniment.embedders",
)
QUEUE = (
    "update jobs.queue set priority = 9",
    "delete from jobs.queue",
    "delete from jobs.queue where name = 'extract'",
    "insert into jobs.queue (name, lock, dedup_key, args) select name, lock, dedup_key || '2', args from jobs.queue",
    "insert into jobs.queue (name, lock, dedup_key, args) values ('tend', 'x', 'x', '{}')",
    "insert into jobs.workers default values",
    "delete from jobs.workers",
    "insert into jobs.slots (name, slot) values ('tend', 1)",
    "truncate jobs.queue",
)


@pytest.fixture
async def told_url(database_url: str) -> str:
    """A database with memories, jobs and a worker of two users of two tenants."""
    async with engine(database_url) as memory:
        for where in (scope("ana", thread="A"), replace(scope("ben", thread="B"), tenant="other")):
            await memory.learn(where, said("I live in Porto"))
            await memory.keep_candidates(where, [replace(note("The user rows on Sundays"), category="activity")])
            with psycopg.connect(database_url) as conn:
                conn.execute(
                    "insert into jobs.queue (name, lock, dedup_key, args) values ('extract', %s, %s, %s)",
                    (str(where.space), f"{where.space}:extract:1", Jsonb({"tenant": where.tenant})),
                )
    with psycopg.connect(database_url) as conn:
        conn.execute("insert into jobs.workers default values")
    return database_url


def list_tables(conn: psycopg.Connection[tuple[str]]) -> list[sql.Identifier]:
    rows = conn.execute(
        "select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace "
        "where n.nspname in ('muniment', 'jobs') and c.relkind in ('r', 'v') order by 1, 2"
    ).fetchall()
    return [sql.Identifier(*row) for row in rows]


def read_rows(conn: psycopg.Connection[tuple[str]], tables: list[sql.Identifier]) -> set[str]:
    """Every row of every table that the transaction may read."""
    found: set[str] = set()
    for table in tables:
        try:
            with conn.transaction():
                rows = conn.execute(sql.SQL("select t::text from {} t").format(table)).fetchall()
        except psycopg.errors.InsufficientPrivilege:
            continue
        found |= {f"{table.as_string()} {row[0]}" for row in rows}
    return found


@pytest.mark.parametrize("allowed", [None, ["activity"], []], ids=["all", "one", "none"])
@pytest.mark.parametrize("change", CHANGES)
async def test_no_row_more(told_url: str, change: str, allowed: list[str] | None) -> None:
    """Whatever role a transaction changes to, it sees nothing that it did not see in the space that it has entered."""
    with psycopg.connect(told_url) as owner:
        tables = list_tables(owner)
    with psycopg.connect(build_login_url(told_url)) as conn:
        conn.execute("set role muniment_app")
        conn.execute("select muniment.enter_space(%s, %s)", (scope("ana").space, allowed))
        seen = read_rows(conn, tables)
        try:
            with conn.transaction():
                conn.execute(change)
        except psycopg.Error:
            pass
        assert read_rows(conn, tables) <= seen
    assert any("rows on Sundays" in row for row in seen) == (allowed != [])


@pytest.mark.parametrize("statement", EMBEDDERS + QUEUE)
async def test_the_application_changes_nothing_of_another_tenant(told_url: str, statement: str) -> None:
    """Not a job, not a worker, not an embedder; the jobs of the space that it has entered are its own."""
    with psycopg.connect(told_url, autocommit=True) as owner:
        tables = [table for table in list_tables(owner) if "jobs" in table.as_string() or "embed" in table.as_string()]
        own = str(scope("ana").space)
        before = {row for row in read_rows(owner, tables) if own not in row}
        with psycopg.connect(build_login_url(told_url)) as conn:
            conn.execute("set role muniment_app")
            conn.execute("select muniment.enter_space(%s)", (scope("ana").space,))
            try:
                conn.execute(statement.encode())
                conn.commit()
            except psycopg.Error:
                conn.rollback()
        assert {row for row in read_rows(owner, tables) if own not in row} == before
    assert len(before) >= 3


async def test_the_login_is_nobody(told_url: str) -> None:
    """Without a role it reads nothing, and it owns nothing."""
    with psycopg.connect(build_login_url(told_url)) as conn:
        assert read_rows(conn, list_tables(conn)) == set()
        owned = conn.execute("select count(*) from pg_class where pg_has_role(relowner, 'member')").fetchone()
        assert owned == (0,)
        for role in ROLES:
            conn.execute(sql.SQL("set role {}").format(sql.Identifier(role)))
            if role not in {"muniment_keeper", "muniment_worker"}:
                assert not any("Porto" in row or "Sundays" in row for row in read_rows(conn, list_tables(conn)))


@pytest.fixture
def new_login(empty_database_url: str) -> Iterator[str]:
    """The name of a login that has no right yet."""
    name = f"{LOGIN}_{conninfo_to_dict(empty_database_url)['dbname']}"  # roles are the cluster's: no other test's name
    with psycopg.connect(empty_database_url, autocommit=True) as conn:
        conn.execute(sql.SQL("create role {} login password 'new'").format(sql.Identifier(name)))
        yield name
        conn.execute(sql.SQL("drop owned by {}").format(sql.Identifier(name)))
        conn.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))


async def test_a_login_of_ones_own(empty_database_url: str, new_login: str) -> None:
    """Before the grant it is refused and told the way out; after it memory and checkpoints work, without the owner."""
    params = {name: value for name, value in conninfo_to_dict(empty_database_url).items() if name != "passfile"}
    url = make_conninfo("", **params | {"user": new_login, "password": "new"})
    alone = settings(url)
    with pytest.raises(Denied, match="MUNIMENT_OWNER_URL"):
        await bootstrap.ensure_database(alone)
    await apply_migrations(empty_database_url)
    with pytest.raises(Denied, match="muniment grant"):
        async with engine(url) as memory:
            await memory.learn(scope(thread="A"), said("I live in Porto"))
    both = settings(url, MUNIMENT_OWNER_URL=empty_database_url)
    await bootstrap.grant_login(both, new_login)
    with pytest.raises(Denied, match="MUNIMENT_OWNER_URL"):
        await checkpointer.create_tables(alone)
    await checkpointer.create_tables(both)
    async with engine(url) as memory:
        await memory.learn(scope(thread="A"), said("I live in Porto"))
        assert (await memory.query(scope(thread="A"), "supervisor", Query(text="Where do I live?"))).hits
    async with checkpointer.open_thread_saver(alone) as saver, saver.cursor() as cursor:
        await cursor.execute("select count(*) as n from checkpoints")
        assert await cursor.fetchone() == {"n": 0}
    await check_owner_is_asked_when_needed(url, empty_database_url)


async def check_owner_is_asked_when_needed(url: str, owner_url: str) -> None:
    """The saver looks for the owner only where something of its tables is missing, and then has it made."""
    asked = []

    async def find_owner() -> str:
        asked.append(owner_url)
        return owner_url

    for missing in (0, 1, 0):
        if missing:
            with psycopg.connect(owner_url, autocommit=True) as conn:
                conn.execute("drop view checkpoints.supervisor_checkpoints")
        async with checkpointer.open_saver(url, find_owner=find_owner):
            assert len(asked) == missing
        asked.clear()


async def test_whom_nothing_is_granted(database_url: str, new_login: str) -> None:
    """A login that does not exist, an owner, and the embedded server's are refused with a reason."""
    owner = conninfo_to_dict(database_url)["user"]
    with pytest.raises(NotFound, match="create role"):
        await grants.grant_login(database_url, "nobody_of_that_name")
    with pytest.raises(BadInput, match="superuser"):
        await grants.grant_login(database_url, str(owner))
    with pytest.raises(Denied):
        await grants.grant_login(build_login_url(database_url), new_login)
    with pytest.raises(BadConfig, match="MUNIMENT_OWNER_URL"):
        await bootstrap.grant_login(load_settings({"HOME": "/nonexistent"}), LOGIN)


async def test_the_embedded_login(home: Path) -> None:
    """It is not the role that owns the server: no role to go back to, no file, no program."""
    own = load_settings({"MUNIMENT_HOME": str(home), "MUNIMENT_EMBEDDER": "hash-256", "HOME": "/nonexistent"})
    async with bootstrap.open_memory(own) as memory:
        await memory.learn(scope(thread="A"), said("I live in Porto"))
        async with checkpointer.open_thread_saver(own):
            pass
    address = await bootstrap.ensure_database(own)
    assert address == await bootstrap.ensure_database(own)
    assert "muniment_engine" in address
    with psycopg.connect(address, autocommit=True) as conn:
        for change in CHANGES:
            try:
                conn.execute(change.encode())
            except psycopg.Error:
                continue
            assert conn.execute("select usesuper from pg_user where usename = session_user").fetchone() == (False,)
            assert not any("Porto" in row for row in read_rows(conn, list_tables(conn)))
        for hostile in (
            "select pg_read_file('PG_VERSION')",
            "copy (select 1) to program 'true'",
            "alter role muniment_engine superuser",
            "create role another superuser",
            "alter table muniment.memories disable row level security",
            "grant muniment to muniment_engine",
            "create table checkpoints.mine (a int)",
            "drop table checkpoints.checkpoints",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(hostile.encode())


async def test_a_home_of_a_former_version(home: Path) -> None:
    """Its password file has the owner alone: the login is made with the next start, and again when its line is gone."""
    own = load_settings({"MUNIMENT_HOME": str(home), "MUNIMENT_EMBEDDER": "hash-256", "HOME": "/nonexistent"})
    await bootstrap.ensure_database(own)
    passwords = home / "postgres" / "password"
    passwords.write_text("".join(line for line in passwords.read_text().splitlines(True) if "_engine" not in line))
    async with bootstrap.open_memory(own) as memory:
        await memory.learn(scope(thread="A"), said("I live in Porto"))
    assert passwords.stat().st_mode & 0o777 == 0o600
    assert len(passwords.read_text().splitlines()) == 2
