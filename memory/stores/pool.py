"""Connections to Postgres: a pool in the application's role, and transactions inside one space."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime

from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection, OperationalError
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from muniment.memory.errors import StoreDown, StoreError
from muniment.memory.records import Scope
from muniment.memory.stores.reach import heeded
from muniment.memory.stores.sql import blocks
from muniment.memory.stores.translate import translated, wrong_embedder

Connection = AsyncConnection[DictRow]
Pool = AsyncConnectionPool[Connection]
_WRITE, _READ, _SWITCH = blocks("write"), blocks("read"), blocks("switch")
_POOL = 10
_WAIT_SECONDS = 15.0
_BUSY_SECONDS = 10.0


class Sessions:
    """The pool and the ways through it. `address` finds the database, and may start and migrate it."""

    def __init__(self, address: Callable[[], Awaitable[str]], *, model: str) -> None:
        self._address = address
        self._model = model
        self._pool: Pool | None = None
        self._opening = asyncio.Lock()
        self._failures = 0
        self._checked = False

    async def open(self, *, any_model: bool = False) -> None:
        """Connect, and refuse a database whose vectors come from another model, unless `any_model`. Once open, see that the
        server is still there, or there again.

        Raises StoreDown, WrongEmbedder."""
        failures, known = self._failures, self._pool
        async with self._opening:
            if self._pool is None:
                if self._failures > failures:  # where nothing answers, each would wait behind all that came before it
                    raise StoreDown("the database cannot be reached")
                try:
                    self._pool = await self._opened()
                except StoreDown:
                    self._failures += 1
                    raise
        if any_model:
            self._checked = True
        elif not self._checked:
            await self._check_embedder()
        if known is not None:
            async with self._connected():
                pass

    async def _opened(self) -> Pool:
        pool = AsyncConnectionPool(
            await self._address(),
            kwargs={"row_factory": dict_row, "autocommit": True},
            configure=_configure,
            min_size=1,
            max_size=_POOL,
            timeout=_BUSY_SECONDS,
            open=False,
            name="muniment",
            connection_class=AsyncConnection[DictRow],
        )
        try:
            with translated("opening the database"):
                await pool.open(wait=True, timeout=_WAIT_SECONDS)
        except BaseException:
            await pool.close()
            raise
        return pool

    async def close(self) -> None:
        """Let the connections go. The next use opens again."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Connection]:
        pool = self._pool
        if pool is None:
            raise StoreDown("the store is closed")
        lost = False
        try:
            with translated():
                conn = await self._taken(pool)
                try:
                    async with conn:
                        await _heed_cancellation()
                        try:
                            yield conn
                        finally:
                            lost = conn.broken
                finally:
                    await pool.putconn(conn)
        finally:
            if lost and self._pool is pool:
                # The next use finds the database anew, and starts the embedded one if that is what died.
                await self.close()

    async def _taken(self, pool: Pool) -> Connection:
        """A connection that the server has not ended while it lay idle, as it does when it restarts: whoever comes first after
        that has done nothing yet that could be lost."""
        conn = await pool.getconn()
        while _ended(conn):
            try:
                await self._address()
            except BaseException:
                if self._pool is pool:
                    await self.close()
                raise
            finally:
                await pool.putconn(conn)
            conn = await pool.getconn()
        return conn

    @asynccontextmanager
    async def _reading(self, scope: Scope, allowed: frozenset[str] | None) -> AsyncIterator[Connection]:
        """One snapshot of one space; with an allowlist row-level security hides every other category."""
        await self._ready()
        entered = {"space": scope.space, "allowed": sorted(allowed) if allowed is not None else None}
        async with self._connected() as conn, conn.pipeline(), conn.transaction():
            await conn.execute(_READ["snapshot"])
            await conn.execute(_READ["enter"], entered)
            yield conn

    @asynccontextmanager
    async def _writing(self, scope: Scope, found_at: datetime | None = None) -> AsyncIterator[Connection]:
        """One transaction in one space, which is founded when `found_at` is given."""
        await self._ready()
        async with self._connected() as conn, conn.transaction():
            async with conn.pipeline():
                await _enter(conn, scope, found_at)
            yield conn

    @asynccontextmanager
    async def _sending(self, scope: Scope, found_at: datetime | None = None) -> AsyncIterator[Connection]:
        """As `_writing`, in one round trip: all statements are sent at once, and the first that fails ends the write.

        A cursor knows its rows and its `rowcount` once they are fetched, and a fetch waits for the server."""
        await self._ready()
        async with self._connected() as conn, conn.pipeline(), conn.transaction():
            await _enter(conn, scope, found_at)
            yield conn

    @asynccontextmanager
    async def _calling(self, *, once: bool) -> AsyncIterator[Connection]:
        """For a statement that enters the space by itself: alone, as a transaction of its own (`once`), or with others
        after it as in `_sending`."""
        await self._ready()
        async with self._connected() as conn:
            if once:
                yield conn
            else:
                async with conn.pipeline(), conn.transaction():
                    yield conn

    async def _ready(self) -> None:
        if self._pool is None or not self._checked:
            await self.open()

    async def _check_embedder(self) -> None:
        named = {"model": self._model}
        async with self._connected() as conn, conn.transaction():
            found = await (await conn.execute(_SWITCH["active"])).fetchone()
            if found is None:
                await conn.execute(_SWITCH["first"], named)
                found = await (await conn.execute(_SWITCH["active"])).fetchone()
            active = one(found)["model"]
        if active != self._model:
            raise wrong_embedder(active, self._model)
        self._checked = True


async def _enter(conn: Connection, scope: Scope, found_at: datetime | None) -> None:
    await conn.execute(_WRITE["enter"], {"space": scope.space})
    if found_at is not None:
        owner = {"space": scope.space, "tenant": scope.tenant, "owner": scope.owner, "owner_type": scope.owner_type}
        await conn.execute(_WRITE["found_space"], owner | {"at": found_at})


async def _configure(conn: Connection) -> None:
    await register_vector_async(conn)
    await conn.execute("set role muniment_app")
    # A plan that is made once, for any space: that of a search takes as long to make as to carry out. Every statement
    # keeps to one space, so that an index is always right, whatever the statistics say of another space. Citus is the
    # exception: a plan for any space is none for the node of one.
    await conn.execute("""
        select set_config('plan_cache_mode', case when exists (select from pg_catalog.pg_extension where extname = 'citus')
          then 'auto' else 'force_generic_plan' end, false)""")
    await conn.execute("set enable_seqscan = off")
    await conn.execute("set jit = off")
    # A large space's own index goes on until it has found enough that the filters let pass.
    await conn.execute("set hnsw.iterative_scan = relaxed_order")
    await conn.execute("set work_mem = '16MB'")  # a search keeps a space of twenty thousand memories in memory
    await conn.execute("set timezone = 'UTC'")
    await heeded(conn)


def _ended(conn: Connection) -> bool:
    """Whether the server's farewell has arrived; no question is sent, so that it costs no round trip."""
    try:
        for _ in range(2):  # its reason, and the end
            conn.pgconn.consume_input()
    except OperationalError:
        return True
    return conn.broken


async def _heed_cancellation() -> None:
    # The pool waits with asyncio.wait_for, which before Python 3.12 forgets a cancellation that arrives with the result.
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        # One that is yet to be delivered arrives here: else it would end what is awaited on the way out.
        await asyncio.sleep(0)
        raise asyncio.CancelledError


def one(row: DictRow | None) -> DictRow:
    if row is None:
        raise StoreError("the database answered nothing")
    return row
