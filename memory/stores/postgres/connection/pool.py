"""Connections to Postgres: a pool in the application's role, and transactions inside one space."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from math import inf
from time import monotonic
from typing import Literal, LiteralString

from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection, AsyncPipeline, Error, OperationalError
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from muniment.memory.domain.scope import Scope
from muniment.memory.errors import StoreDown, StoreError
from muniment.memory.stores.postgres.connection.errors import build_wrong_embedder, translate_errors
from muniment.memory.stores.postgres.connection.keepalive import enable_keepalive, read_silence_limit
from muniment.memory.stores.postgres.sql import load_blocks

_WRITE, _READ, _SWITCH, _SESSION = (
    load_blocks("write"),
    load_blocks("read"),
    load_blocks("embedder_switch"),
    load_blocks("session"),
)
_POOL = 10
_WAIT_SECONDS = 15.0
_BUFFER_BYTES = 2**20  # bytes; the system may allow less
_BUSY_SECONDS = 10.0


class Connection(AsyncConnection[DictRow]):
    """One whose session is its `own`, or that a pooler hands on after each transaction: then each settles anew."""

    is_direct = True
    silence_limit: str | None = None  # of its client, in milliseconds, that a transaction may last


Pool = AsyncConnectionPool[Connection]


class PostgresConnections:
    """The pool and the ways through it. `address` finds the database, and may start and migrate it."""

    def __init__(self, address: Callable[[], Awaitable[str]], *, model: str) -> None:
        self.find_address = address
        self.model = model
        self._pool: Pool | None = None
        self._opening = asyncio.Lock()
        self._failures = 0
        self._checked = False
        self._doubted = -inf  # when a connection broke, and when the last probe began that found the server
        self._probed = -inf
        self._returning: set[asyncio.Task[None]] = set()

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
                    self._pool = await self._open_pool()
                except StoreDown:
                    self._failures += 1
                    raise
        if any_model:
            self._checked = True
        elif not self._checked:
            await self._check_embedder()
        if known is not None:
            async with self.connect():
                pass

    async def _open_pool(self) -> Pool:
        pool = AsyncConnectionPool(
            await self.find_address(),
            kwargs={"row_factory": dict_row, "autocommit": True},
            configure=_configure_connection,
            min_size=1,
            max_size=_POOL,
            timeout=_BUSY_SECONDS,
            open=False,
            name="muniment",
            connection_class=Connection,
        )
        try:
            with translate_errors("opening the database"):
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
    async def connect(self) -> AsyncIterator[Connection]:
        """A connection of the pool. One that breaks is replaced, and makes the next use probe the server: a call that is
        cancelled twice breaks its own, and those of the others are well."""
        with translate_errors():
            pool, conn = await self._take_connection()
            try:
                async with conn:
                    await _check_cancellation()
                    yield conn
            finally:
                if conn.broken:
                    self._doubted = monotonic()
                await self._give_back_connection(pool, conn)

    async def _take_connection(self) -> tuple[Pool, Connection]:
        """A connection that the server has not ended while it lay idle, as it does when it restarts: whoever comes first after
        that has done nothing yet that could be lost."""
        began = monotonic()
        while True:
            await self._probe_server(self._doubted)
            pool = self._pool
            if pool is None:
                raise StoreDown("the store is closed")
            try:
                conn = await pool.getconn()
            except PoolTimeout:  # all are in use, or none can be made
                self._doubted = monotonic()
                raise
            if not _is_ended(conn):
                return pool, conn
            await self._give_back_connection(pool, conn)
            await self._probe_server(began)

    async def _probe_server(self, since: float) -> None:
        """See that the server is there, unless that was seen after `since`. This finds the database anew, and starts the
        embedded server if that is what died. A server that is not there closes the pool; a probe that is cancelled leaves
        it to the next use. No connection is held meanwhile.

        Raises StoreDown."""
        if self._probed >= since:
            return
        failures = self._failures
        async with self._opening:
            pool, began = self._pool, monotonic()
            if pool is None or self._probed >= since:
                return
            if self._failures > failures:
                raise StoreDown("the database cannot be reached")
            try:
                if await self.find_address() != pool.conninfo:
                    await self.close()
                    self._pool = await self._open_pool()
            except StoreDown:
                self._failures += 1
                if self._pool is pool:
                    await self.close()
                raise
            self._probed = began

    async def _give_back_connection(self, pool: Pool, conn: Connection) -> None:
        """Return a connection in a task of its own: a cancellation in the midst would lose it for good."""
        returning = asyncio.create_task(_return_connection(pool, conn))
        self._returning.add(returning)
        returning.add_done_callback(self._returning.discard)
        await asyncio.shield(returning)

    @asynccontextmanager
    async def reading(self, scope: Scope, allowed: frozenset[str] | None = None) -> AsyncIterator[Connection]:
        """One snapshot of one space; with an allowlist row-level security hides every other category."""
        await self._ensure_open()
        entered = {"space": scope.space, "allowed": sorted(allowed) if allowed is not None else None}
        async with self.connect() as conn, _send_transaction(conn, "snapshot"):
            await conn.execute(_READ["enter"], entered)
            yield conn

    @asynccontextmanager
    async def writing(self, scope: Scope, found_at: datetime | None = None) -> AsyncIterator[Connection]:
        """One transaction in one space, which is founded when `found_at` is given."""
        await self._ensure_open()
        async with self.connect() as conn, conn.transaction():
            async with conn.pipeline():
                await _set_session(conn)
                await _enter_space(conn, scope, found_at)
            yield conn

    @asynccontextmanager
    async def sending(self, scope: Scope, found_at: datetime | None = None) -> AsyncIterator[Connection]:
        """As `_writing`, in one round trip: all statements are sent at once, and the first that fails ends the write.

        A cursor knows its rows and its `rowcount` once they are fetched, and a fetch waits for the server."""
        async with self.statement(once=False) as conn:
            await _enter_space(conn, scope, found_at)
            yield conn

    @asynccontextmanager
    async def statement(self, *, once: bool = True) -> AsyncIterator[Connection]:
        """For a statement that needs none before it: alone, as a transaction of its own (`once`), or with others after it
        as in `_sending`. Behind a pooler one statement settles before it, in the same round trip if its rows are fetched
        afterwards: what a pipeline sends is one transaction, which nobody has to begin."""
        await self._ensure_open()
        async with self.connect() as conn:
            if once and conn.is_direct:
                yield conn
            elif once:
                async with conn.pipeline():
                    await _set_session(conn)
                    yield conn
            else:
                async with _send_transaction(conn, "begin"):
                    yield conn

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """One transaction in no space, for statements that wait for each other."""
        await self._ensure_open()
        async with self.connect() as conn, conn.transaction():
            await _set_session(conn)
            yield conn

    @asynccontextmanager
    async def locking(self, lock: LiteralString) -> AsyncIterator[tuple[bool, Connection]]:
        """Whether a lock of the whole database is ours for as long as this lasts, with the connection. A transaction that does nothing else
        holds it: that of a session would stay with a pooler's connection when its client is gone. The statement is never
        prepared: such a one keeps its snapshot until the next, and a concurrent build waits for all that hold one."""
        async with self.transaction() as conn:
            yield require_row(await (await conn.execute(lock, prepare=False)).fetchone())["mine"], conn

    async def _ensure_open(self) -> None:
        if self._pool is None or not self._checked:
            await self.open()

    async def _check_embedder(self) -> None:
        named = {"model": self.model}
        async with self.connect() as conn, conn.transaction():
            await _set_session(conn)
            found = await (await conn.execute(_SWITCH["active"])).fetchone()
            if found is None:
                await conn.execute(_SWITCH["first"], named)
                found = await (await conn.execute(_SWITCH["active"])).fetchone()
            active = require_row(found)["model"]
        if active != self.model:
            raise build_wrong_embedder(active, self.model)
        self._checked = True


@asynccontextmanager
async def _send_transaction(conn: Connection, begin: Literal["begin", "snapshot"]) -> AsyncIterator[None]:
    """A transaction that is sent as a whole, and waited for once: the driver's own would wait for its beginning, for what is in it,
    and for its end."""
    try:
        async with conn.pipeline() as sent:
            await conn.execute(_READ[begin])
            try:
                await _set_session(conn)
                yield
                await conn.execute(_READ["commit"])
            except Error:
                await _drain_pipeline(sent)
                raise
    finally:
        if not conn.broken and conn.info.transaction_status != TransactionStatus.IDLE:
            with suppress(Error):
                await conn.rollback()


async def _drain_pipeline(sent: AsyncPipeline) -> None:
    """When a statement has failed, none behind it is done. That is no news, but the driver would tell it in its log if it
    was the one to find the answers to those."""
    with suppress(Error):
        await sent.sync()


async def _enter_space(conn: Connection, scope: Scope, found_at: datetime | None) -> None:
    await conn.execute(_WRITE["enter"], {"space": scope.space})
    if found_at is not None:
        owner = {"space": scope.space, "tenant": scope.tenant, "owner": scope.owner, "owner_type": scope.owner_type}
        await conn.execute(_WRITE["found_space"], owner | {"at": found_at})


async def _configure_connection(conn: Connection) -> None:
    conn.silence_limit = read_silence_limit(conn)
    conn.is_direct = await enable_keepalive(conn)
    _widen_buffers(conn)
    await register_vector_async(conn)
    if conn.is_direct:
        await conn.execute(_SESSION["configure"], {"silence": conn.silence_limit, "local": False})


async def _set_session(conn: Connection) -> None:
    """Before anything else of a transaction: what a connection of a pooler was set to is unknown."""
    if not conn.is_direct:
        await conn.execute(_SESSION["configure"], {"silence": conn.silence_limit, "local": True})


def _widen_buffers(conn: Connection) -> None:
    """Let the socket of the same machine take what a bulk write sends: while the server is at work the client packs what comes
    next, and does not wait for it to read. Over a network the system does so by itself."""
    if (conn.info.host or "").startswith("/"):
        with socket.socket(fileno=os.dup(conn.fileno())) as its:
            its.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)


async def _return_connection(pool: Pool, conn: Connection) -> None:
    """Nobody gets a connection that is still in a pipeline, as the driver leaves it where a transaction was cancelled while it
    began: a statement alone would not be committed, and the next transaction not be one of its own."""
    try:
        if conn.info.pipeline_status is not PipelineStatus.OFF:
            await conn.close()
    finally:
        await pool.putconn(conn)


def _is_ended(conn: Connection) -> bool:
    """Whether the server's farewell has arrived; no question is sent, so that it costs no round trip."""
    try:
        for _ in range(2):  # its reason, and the end
            conn.pgconn.consume_input()
    except OperationalError:
        return True
    return conn.broken


async def _check_cancellation() -> None:
    # The pool waits with asyncio.wait_for, which before Python 3.12 forgets a cancellation that arrives with the result.
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        # One that is yet to be delivered arrives here: else it would end what is awaited on the way out.
        await asyncio.sleep(0)
        raise asyncio.CancelledError


def require_row(row: DictRow | None) -> DictRow:
    if row is None:
        raise StoreError("the database answered nothing")
    return row
