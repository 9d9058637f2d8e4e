"""Migrations: numbered SQL files, applied once each, in order, by one process at a time."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from time import monotonic
from typing import LiteralString

import psycopg

from muniment.memory.errors import BadConfig, EditedMigration
from muniment.memory.stores.postgres.connection.errors import translated
from muniment.memory.stores.postgres.connection.keepalive import heeded
from muniment.memory.stores.postgres.connection.locks import busy
from muniment.memory.stores.postgres.schema.scrub import put_back

NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")
SNAPSHOT = "schema.sql"
LOCK = 0x6D756E696D656E74  # "muniment": one lock per database, so any constant that nobody else would pick
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
class Step:
    """One migration file: its name, its SQL, and the SHA-256 (hex) of the SQL."""

    name: str
    sql: bytes
    checksum: str


async def migrate(dsn: str, folder: Traversable | None = None) -> list[str]:
    """Apply what is not applied yet and return the names, in order; each file is its own transaction, which is alone.

    `folder` defaults to the package's migrations. Safe to call from many processes at once: each returns what it
    applied itself. Raises `EditedMigration`, `BadConfig` (a bad file name, or the database is newer than the code), `Busy`
    (another process migrates for longer than two minutes) and the errors of `translated`.
    """
    steps, done = await _steps(folder), []
    with translated("migrate"):
        async with _connected(dsn) as conn:
            # Asked first: `if not exists` wants a primary, and the right to create, also where nothing is to be made.
            if not await _begun(conn):
                async with _alone(conn):
                    await conn.execute(BOOKS)
            while _todo(steps, await _recorded(conn)):
                async with _alone(conn):
                    for step in _todo(steps, await _recorded(conn))[:1]:
                        await _apply(conn, step)
                        done.append(step.name)
            if folder is None:
                await put_back(conn)
    return done


@asynccontextmanager
async def _connected(dsn: str) -> AsyncIterator[Connection]:
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as conn:
        await heeded(conn)
        yield conn


@asynccontextmanager
async def _alone(conn: Connection) -> AsyncIterator[None]:
    """One transaction. Its lock ends with it: that of a session would stay with a pooler's connection."""
    # A blocked lock would hold a snapshot all the while, and a concurrent index build waits for those.
    deadline = monotonic() + PATIENCE_SECONDS
    async with conn.transaction():
        while not await _locked(conn):
            if monotonic() > deadline:
                raise await busy(
                    conn, LOCK, "another process is migrating this database", "wait until it is done, and try again"
                )
            await asyncio.sleep(POLL_SECONDS)
        yield


async def _locked(conn: Connection) -> bool:
    row = await (await conn.execute("select pg_try_advisory_xact_lock(%s)", (LOCK,))).fetchone()
    return bool(row and row[0])


async def _begun(conn: Connection) -> bool:
    row = await (await conn.execute("select to_regclass('public.schema_migrations') is not null")).fetchone()
    return bool(row and row[0])


async def _recorded(conn: Connection) -> dict[str, str]:
    rows = await (await conn.execute("select name, checksum from public.schema_migrations")).fetchall()
    return dict(rows)


async def _apply(conn: Connection, step: Step) -> None:
    with translated(f"migration {step.name}"):
        await conn.execute(step.sql)
        await conn.execute(
            "insert into public.schema_migrations (name, checksum) values (%s, %s)", (step.name, step.checksum)
        )


def _todo(steps: list[Step], recorded: dict[str, str]) -> list[Step]:
    """The steps not recorded yet, if the recorded ones are still what they were."""
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


async def _steps(folder: Traversable | None) -> list[Step]:
    return await asyncio.to_thread(_read, files("muniment.migrations") if folder is None else folder)


def _read(folder: Traversable) -> list[Step]:
    named = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql") and file.name != SNAPSHOT),
        key=lambda file: file.name,
    )
    numbers: dict[str, str] = {}
    for file in named:
        match = NAME.fullmatch(file.name)
        if match is None:
            raise BadConfig(f"{file.name} is not a migration name: it has to look like 0001_spaces.sql")
        if match[1] in numbers:
            raise BadConfig(f"{numbers[match[1]]} and {file.name} have the same number")
        numbers[match[1]] = file.name
    return [_step(file) for file in named]


def _step(file: Traversable) -> Step:
    # A checkout on Windows may turn line ends around: that is no edit.
    sql = file.read_bytes().replace(b"\r\n", b"\n")
    return Step(name=file.name, sql=sql, checksum=hashlib.sha256(sql).hexdigest())
