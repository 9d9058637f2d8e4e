"""LangGraph's checkpoints in the same Postgres, in a schema of their own: the pool, the tables, the server's saver."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection, AsyncCursor
from psycopg.errors import LockNotAvailable
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from muniment.graph import tables
from muniment.graph.janitor import CheckpointTables, run_janitor
from muniment.graph.redaction import Redact
from muniment.graph.saver import (
    SCHEMA,
    CheckpointConnection,
    CheckpointPool,
    PooledSaver,
    check_connection,
    set_search_path,
    translate_errors,
)
from muniment.memory import bootstrap
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.errors import Denied

FindOwner = Callable[[], Awaitable[str]]
_SETUP_LOCK = 0x6D756E696D656E74  # the advisory lock around the creation of the tables: "muniment"
_SETUP_POLL_SECONDS = 0.05
_PATIENCE_SECONDS = 3
_CONNECT_SECONDS = 10.0
_MAX_CONNECTIONS = 8


@asynccontextmanager
async def open_saver(
    dsn: str, redact: Redact | None = None, tenant: str | None = None, *, find_owner: FindOwner | None = None
) -> AsyncIterator[PooledSaver]:
    """A saver for concurrent use over a pool of its own; creates its tables. Raises StoreDown, Denied.

    `find_owner` returns the address of the login that creates the tables, where that of `dsn` may not. Without
    `redact` it removes what is a secret under any settings. `tenant` is that of a run that names none: with it an
    erasure also finds a thread whose first turn was cut short."""
    pool: CheckpointPool = AsyncConnectionPool(
        dsn,
        min_size=1,
        max_size=_MAX_CONNECTIONS,
        open=False,
        timeout=_CONNECT_SECONDS,
        configure=_configure_connection,
        check=check_connection,
        name="checkpoints",
        connection_class=CheckpointConnection,
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
    )
    try:
        async with translate_errors():
            await pool.open(wait=True, timeout=_CONNECT_SECONDS)
            async with pool.connection() as conn:
                await _ensure_tables(conn, dsn, find_owner)
        yield PooledSaver(pool, redact or bootstrap.make_redactor(), tenant)
    finally:
        await pool.close()


@asynccontextmanager
async def open_thread_saver(settings: Settings, redact: Redact | None = None) -> AsyncIterator[PooledSaver]:
    """The saver of the threads by these settings, opened. Raises BadConfig, StoreDown, Denied."""
    address = await bootstrap.ensure_checkpoint_database(settings)
    find_owner = None if settings.checkpoints_url else partial(bootstrap.find_owner_address, settings)
    redact = redact or bootstrap.make_redactor(settings)
    async with open_saver(address, redact, settings.tenant, find_owner=find_owner) as saver:
        yield saver


@asynccontextmanager
async def open_savers(settings: Settings, redact: Redact | None = None) -> AsyncIterator[list[PooledSaver]]:
    """Savers of all databases that may hold checkpoints, opened: that of the settings, and the memory's, where it is
    another one and has the tables from before. Raises BadConfig, StoreDown."""
    async with AsyncExitStack() as stack:
        savers = [await stack.enter_async_context(open_thread_saver(settings, redact))]
        if settings.checkpoints_url:
            address, before = settings.checkpoints_url.get_secret_value(), await bootstrap.ensure_database(settings)
            if not await bootstrap.is_same_database(address, before) and await _has_saver_tables(before):
                find_owner = partial(bootstrap.find_owner_address, settings)
                saver = open_saver(before, redact, settings.tenant, find_owner=find_owner)
                savers.append(await stack.enter_async_context(saver))
        yield savers


@asynccontextmanager
async def checkpointer() -> AsyncIterator[PooledSaver]:
    """The saver of LangGraph's server, by the settings of this process, with the janitor and a worker for jobs.

    The server enters it once and leaves it at its end. From here on only its account may read the files that it writes:
    `.langgraph_api` has the raw inputs of runs. Raises BadConfig, StoreDown."""
    os.umask(0o077)
    settings = load_settings()
    async with (
        open_thread_saver(settings) as saver,
        bootstrap.create_memory(settings) as memory,
        run_janitor(saver, memory.engine.settings),
        bootstrap.run_worker(settings, memory),
    ):
        yield saver


@dataclass(frozen=True, slots=True)
class _OneConnection:
    """The saver's tables over one connection."""

    conn: CheckpointConnection

    def cursor(self) -> AbstractAsyncContextManager[AsyncCursor[DictRow]]:
        """A cursor for the saver's tables. Raises StoreDown."""
        return self._open_cursor()

    @asynccontextmanager
    async def _open_cursor(self) -> AsyncIterator[AsyncCursor[DictRow]]:
        async with translate_errors(), self.conn.transaction(), self.conn.cursor(binary=True) as cursor:
            await set_search_path(self.conn)
            yield cursor


@asynccontextmanager
async def open_existing_tables(settings: Settings) -> AsyncIterator[CheckpointTables | None]:
    """Open a connection to the saver's tables by these settings, or None where there are none: nothing is created. The
    memory of these settings has to be open.

    Raises BadConfig, StoreDown, Denied."""
    address = await bootstrap.find_checkpoint_address(settings)
    async with (
        translate_errors(),
        await CheckpointConnection.connect(
            address, autocommit=True, prepare_threshold=None, row_factory=dict_row
        ) as conn,
    ):
        await _configure_connection(conn)
        has_tables = await _query_bool(conn, tables.HAS_TABLES)
        yield _OneConnection(conn) if has_tables else None


async def _configure_connection(conn: CheckpointConnection) -> None:
    conn.has_own_session = await bootstrap.enable_keepalive(conn)
    if conn.has_own_session:
        await conn.execute(f"set search_path to {SCHEMA}")


async def _has_saver_tables(dsn: str) -> bool:
    """Whether a database has the saver's tables."""
    async with (
        translate_errors(),
        await AsyncConnection[DictRow].connect(dsn, autocommit=True, row_factory=dict_row) as conn,
    ):
        return await _query_bool(conn, f"select to_regclass('{SCHEMA}.checkpoints') is not null as yes")


async def create_tables(settings: Settings) -> None:
    """Create the tables of the saver by these settings, unless they exist. Raises StoreDown, Denied."""
    async with open_thread_saver(settings):
        pass


async def _ensure_tables(conn: CheckpointConnection, dsn: str, find_owner: FindOwner | None) -> None:
    """Create the tables over this connection, or over one of the owner where this login may not create any. The owner
    is looked for only where something is missing."""
    if not await _query_bool(conn, tables.IS_RESTRICTED):
        await _create_tables(conn)
        return
    is_current = await _query_bool(conn, tables.HAS_TABLES) and await _query_bool(
        conn, f"select max(v) >= {len(AsyncPostgresSaver.MIGRATIONS) - 1} as yes from {SCHEMA}.checkpoint_migrations"
    )
    if is_current and await _query_bool(conn, tables.HAS_INDEX_AND_VIEW):
        return
    owner = await find_owner() if find_owner else dsn
    if owner == dsn:
        if is_current:
            return
        raise Denied(
            "the tables of the checkpoints are missing or of an earlier version, and this login may not create them: "
            "`muniment migrate` with MUNIMENT_OWNER_URL does"
        )
    async with await CheckpointConnection.connect(
        owner, autocommit=True, prepare_threshold=0, row_factory=dict_row
    ) as own:
        await _configure_connection(own)
        await _create_tables(own)


async def _create_tables(conn: CheckpointConnection) -> None:
    """Create the schema and the tables, one process at a time."""
    async with _hold_setup_lock(conn):
        # Queried first: `create … if not exists` needs the right to create even where the schema exists.
        if not await _query_bool(conn, f"select exists (select from pg_namespace where nspname = '{SCHEMA}') as yes"):
            await conn.execute(f"create schema {SCHEMA}")
        official = AsyncPostgresSaver(conn)
        if not conn.has_own_session:  # in the transaction of the lock
            official.MIGRATIONS = [step.replace("CONCURRENTLY ", "") for step in official.MIGRATIONS]
        await official.setup()
        if not await _query_bool(conn, "select to_regclass('janitor') is not null as yes"):
            await conn.execute(tables.CREATE_JANITOR)
        if conn.has_own_session and await _query_bool(conn, tables.NEEDS_INDEX):  # which needs no transaction around it
            await _create_space_index(conn)
        if await _query_bool(conn, tables.NEEDS_THREADS_VIEW):
            await conn.execute(tables.CREATE_THREADS_VIEW)


@asynccontextmanager
async def _hold_setup_lock(conn: CheckpointConnection) -> AsyncIterator[None]:
    """Hold a lock of the session; behind a pooler, where sessions are shared, a lock of one transaction.

    The lock is polled: `create index concurrently` would wait for ever for a statement that waits for the lock."""
    async with AsyncExitStack() as stack:
        if not conn.has_own_session:
            await stack.enter_async_context(conn.transaction())
            await set_search_path(conn)
        kind = "" if conn.has_own_session else "xact_"
        statement = f"select pg_try_advisory_{kind}lock({_SETUP_LOCK}) as yes"
        while not await _query_bool(conn, statement):  # noqa: ASYNC110 - another process
            await asyncio.sleep(_SETUP_POLL_SECONDS)
        try:
            yield
        finally:
            if conn.has_own_session:
                await conn.execute(f"select pg_advisory_unlock({_SETUP_LOCK})")


async def _create_space_index(conn: CheckpointConnection) -> None:
    """Create the index; where a long read such as a dump is in the way, the next start does it."""
    await conn.execute(f"set lock_timeout = '{_PATIENCE_SECONDS}s'")
    with suppress(LockNotAvailable):
        await conn.execute(tables.DROP_INDEX)
        await conn.execute(tables.SPACES_INDEX)
    await conn.execute("reset lock_timeout")


async def _query_bool(conn: AsyncConnection[DictRow], statement: Any) -> bool:
    row = await (await conn.execute(statement)).fetchone()
    return bool(row and row["yes"])
