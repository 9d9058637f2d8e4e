"""Migrations: numbered SQL files, applied once each, in order, by one process at a time."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from time import monotonic
from typing import LiteralString

import psycopg

from muniment.memory.errors import BadConfig, EditedMigration
from muniment.memory.stores.postgres.connection.errors import translate_errors
from muniment.memory.stores.postgres.connection.keepalive import enable_keepalive
from muniment.memory.stores.postgres.connection.locks import build_busy_error
from muniment.memory.stores.postgres.schema.scrub import reset_settings

NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")
SNAPSHOT = "schema.sql"
LOCK = 0x6D756E696D656E74  # "muniment": one lock per database
PATIENCE_SECONDS = 120.0
POLL_SECONDS = 0.05

Connection = psycopg.AsyncConnection[tuple[str, str]]

BOOKS: LiteralString = """
create table if not exists public.schema_migrations (
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now(),
    constraint schema_migrations_pkey primary key (name)
)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One migration file: its name, its SQL, and the SHA-256 (hex) of the SQL."""

    name: str
    sql: bytes
    checksum: str


async def apply_migrations(
    dsn: str, folder: Traversable | None = None, *, then: Callable[[Connection], Awaitable[None]] | None = None
) -> list[str]:
    """Apply the migrations that are pending, each in a transaction of its own, and return their names in order.

    `folder` defaults to the package's migrations. `then` is called with the connection at the end. Safe to call
    from many processes at once: each returns what it applied itself. Raises EditedMigration, BadConfig (a bad file
    name, or the database is newer than the code), Busy (another process migrates for longer than two minutes) and the
    errors of `translate_errors`."""
    steps, done = await _load_migrations(folder), []
    with translate_errors("migrate"):
        async with _connect(dsn) as conn:
            # `if not exists` needs a primary and the right to create, also for a table that exists.
            if not await _has_history(conn):
                async with _lock_migrations(conn):
                    await conn.execute(BOOKS)
            while _find_pending(steps, await _read_history(conn)):
                async with _lock_migrations(conn):
                    for step in _find_pending(steps, await _read_history(conn))[:1]:
                        await _apply_migration(conn, step)
                        done.append(step.name)
            if folder is None:
                await reset_settings(conn)
            if then is not None:
                await then(conn)
    return done


@asynccontextmanager
async def _connect(dsn: str) -> AsyncIterator[Connection]:
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as conn:
        await enable_keepalive(conn)
        yield conn


@asynccontextmanager
async def _lock_migrations(conn: Connection) -> AsyncIterator[None]:
    """A transaction that holds the lock: the lock of a session would stay with a pooler's connection."""
    # A blocked lock would hold a snapshot, and a concurrent index build waits for snapshots.
    deadline = monotonic() + PATIENCE_SECONDS
    async with conn.transaction():
        while not await _try_lock(conn):
            if monotonic() > deadline:
                raise await build_busy_error(
                    conn, LOCK, "another process is migrating this database", "wait until it is done, and try again"
                )
            await asyncio.sleep(POLL_SECONDS)
        yield


async def _try_lock(conn: Connection) -> bool:
    row = await (await conn.execute("select pg_try_advisory_xact_lock(%s)", (LOCK,))).fetchone()
    return bool(row and row[0])


async def _has_history(conn: Connection) -> bool:
    row = await (await conn.execute("select to_regclass('public.schema_migrations') is not null")).fetchone()
    return bool(row and row[0])


async def _read_history(conn: Connection) -> dict[str, str]:
    rows = await (await conn.execute("select name, checksum from public.schema_migrations")).fetchall()
    return dict(rows)


async def _apply_migration(conn: Connection, step: Migration) -> None:
    with translate_errors(f"migration {step.name}"):
        await conn.execute(step.sql)
        await conn.execute(
            "insert into public.schema_migrations (name, checksum) values (%s, %s)", (step.name, step.checksum)
        )


def _find_pending(steps: list[Migration], recorded: dict[str, str]) -> list[Migration]:
    """Return the steps that are not recorded. Raises for recorded ones that have changed or do not exist."""
    unknown = sorted(recorded.keys() - {step.name for step in steps})
    if unknown:
        raise BadConfig(
            f"the database is newer than this version of Muniment: it has {', '.join(unknown)}; upgrade Muniment",
            names=unknown,
        )
    for step in steps:
        if recorded.get(step.name, step.checksum) != step.checksum:
            raise EditedMigration(
                f"{step.name} was applied before and has been edited since: undo the edit and add a new file",
                name=step.name,
            )
    return [step for step in steps if step.name not in recorded]


async def _load_migrations(folder: Traversable | None) -> list[Migration]:
    return await asyncio.to_thread(_read_folder, files("muniment.migrations") if folder is None else folder)


def _read_folder(folder: Traversable) -> list[Migration]:
    paths = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql") and file.name != SNAPSHOT),
        key=lambda file: file.name,
    )
    numbers: dict[str, str] = {}
    for file in paths:
        match = NAME.fullmatch(file.name)
        if match is None:
            raise BadConfig(f"{file.name} is not a migration name: it has to look like 0001_spaces.sql")
        if match[1] in numbers:
            raise BadConfig(f"{numbers[match[1]]} and {file.name} have the same number")
        numbers[match[1]] = file.name
    return [_read_migration(file) for file in paths]


def _read_migration(file: Traversable) -> Migration:
    # A checkout on Windows may change line ends: that is no edit.
    sql = file.read_bytes().replace(b"\r\n", b"\n")
    return Migration(name=file.name, sql=sql, checksum=hashlib.sha256(sql).hexdigest())
