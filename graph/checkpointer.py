"""LangGraph's checkpoints in the same Postgres, in a schema of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeAlias

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection, AsyncCursor, OperationalError
from psycopg.errors import DiskFull
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from muniment.memory import bootstrap
from muniment.memory.errors import StoreDown, StoreFull
from muniment.memory.settings import load

SCHEMA = "checkpoints"
_SETUP_LOCK = 0x6D756E696D656E74  # the advisory lock of whoever makes the tables: "muniment"
_SETUP_POLL_SECONDS = 0.05
_CONNECT_SECONDS = 10.0
_CONNECTIONS = 8

Pool: TypeAlias = AsyncConnectionPool[AsyncConnection[DictRow]]


class _Turnstile(asyncio.Lock):
    """A lock that lets everybody pass."""

    async def acquire(self) -> Literal[True]:
        return True

    def release(self) -> None:
        return None


class PooledSaver(AsyncPostgresSaver):
    """The official saver without its lock: each call has a connection of the pool to itself, so none waits for another."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(conn=pool)
        self.lock = _Turnstile()

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[AsyncCursor[DictRow]]:
        try:
            async with super()._cursor(pipeline=pipeline) as cursor:
                yield cursor
        except DiskFull:
            raise StoreFull from None
        except (OperationalError, PoolTimeout, PoolClosed):
            raise StoreDown("The database of the checkpoints cannot be reached.") from None


@asynccontextmanager
async def open_saver(dsn: str) -> AsyncIterator[PooledSaver]:
    """A saver for concurrent use over a pool of its own; makes its tables if need be. Raises StoreDown."""
    pool: Pool = AsyncConnectionPool(
        dsn, min_size=1, max_size=_CONNECTIONS, open=False, timeout=_CONNECT_SECONDS, configure=_enter,
        check=AsyncConnectionPool.check_connection, name="checkpoints",
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
    )  # fmt: skip
    try:
        await pool.open(wait=True, timeout=_CONNECT_SECONDS)
        async with pool.connection() as conn:
            await _make(conn)
    except (OperationalError, PoolTimeout) as error:
        await pool.close()
        raise StoreDown("The database of the checkpoints cannot be reached.") from error
    try:
        yield PooledSaver(pool)
    finally:
        await pool.close()


@asynccontextmanager
async def checkpointer() -> AsyncIterator[PooledSaver]:
    """The saver of LangGraph's server, by the settings of this process. Raises BadConfig, StoreDown."""
    async with open_saver(await bootstrap.database(load())) as saver:
        yield saver


async def _enter(conn: AsyncConnection[Any]) -> None:
    """The saver's SQL names no schema."""
    await conn.execute(f"set search_path to {SCHEMA}")


async def _make(conn: AsyncConnection[DictRow]) -> None:
    """Make the schema and the tables, one process at a time.

    The lock is polled: whoever waits inside a statement is waited for by `create index concurrently`, for ever."""
    while not await _true(conn, f"select pg_try_advisory_lock({_SETUP_LOCK}) as yes"):  # noqa: ASYNC110 - another process
        await asyncio.sleep(_SETUP_POLL_SECONDS)
    try:
        # Asked first, because `if not exists` wants the right to create even where nothing is to be created.
        if not await _true(conn, f"select exists (select from pg_namespace where nspname = '{SCHEMA}') as yes"):
            await conn.execute(f"create schema {SCHEMA}")
        await AsyncPostgresSaver(conn).setup()
    finally:
        await conn.execute(f"select pg_advisory_unlock({_SETUP_LOCK})")


async def _true(conn: AsyncConnection[DictRow], question: Any) -> bool:
    row = await (await conn.execute(question)).fetchone()
    return bool(row and row["yes"])
