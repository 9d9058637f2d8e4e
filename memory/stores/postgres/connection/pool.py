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
from typing import Any, Literal, LiteralString

from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection, AsyncPipeline, AsyncRawCursor, Error, OperationalError
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from muniment.memory.domain.scope import Scope
from muniment.memory.domain.tokens.config import find_token_id
from muniment.memory.errors import StoreDown, StoreError
from muniment.memory.stores.postgres.connection.errors import (
    DRIVER_ERRORS,
    build_wrong_embedder,
    translate_error,
    translate_errors,
)
from muniment.memory.stores.postgres.connection.keepalive import enable_keepalive, read_silence_limit
from muniment.memory.stores.postgres.connection.statement_log import choose_raw_cursor, watch_statements
from muniment.memory.stores.postgres.sql import load_blocks

_WRITE, _READ, _SWITCH, _SESSION, _ROLES = map(load_blocks, ("write", "read", "embedder_switch", "session", "roles"))
_POOL, _WAIT_SECONDS = 10, 15.0
_BUFFER_BYTES = 2**20  # bytes; the system may allow less
_BUSY_SECONDS = 10.0


class Connection(AsyncConnection[DictRow]):
    """A connection to the server itself, or to a pooler that hands it on: then each transaction configures itself."""

    is_direct = True
    silence_limit: str | None = None  # milliseconds that a transaction may last without a sign of its client
    raw_cursor: type[AsyncRawCursor[Any]] = AsyncRawCursor  # for statements with numbered parameters


Pool = AsyncConnectionPool[Connection]
FindAddress = Callable[[], Awaitable[str]]


class PostgresConnections:
    """A pool of connections, and the transactions on them. `address` finds the database, and may start and migrate
    it; `owner` finds the address of the login that owns its tables, where that is another one."""

    def __init__(self, address: FindAddress, *, model: str, owner: FindAddress | None = None) -> None:
        self.find_address, self.find_owner_address = address, owner or address
        self.model = model
        self.on_open: Callable[[], Awaitable[None]] | None = None  # called each time that the store was opened
        self._pool: Pool | None = None
        self._opening = asyncio.Lock()
        self._failures = 0
        self._checked = False
        self._doubted = -inf  # when a connection broke
        self._probed = -inf  # when the last probe began that reached the server
        self._returning: set[asyncio.Task[None]] = set()

    async def open(self, *, any_model: bool = False) -> None:
        """Connect; when open already, check that the server answers.

        Raises StoreDown, and WrongEmbedder when the vectors come from another model, unless `any_model`."""
        failures, was_open = self._failures, self._pool is not None
        async with self._opening:
            if self._pool is None:
                if self._failures > failures:  # an attempt of another task failed while this one waited for it
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
        if was_open:
            async with self.connect():
                pass
        elif self.on_open is not None:
            await self.on_open()

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
        """Close the connections. The next use opens again."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Connection]:
        """Lend a connection of the pool. One that breaks is replaced, and makes the next use probe the server, which
        may be well: a call that is cancelled twice breaks its connection."""
        try:
            pool, conn = await self._take_connection()
            try:
                async with conn:
                    # The pool waits with asyncio.wait_for, which before Python 3.12 forgets a cancellation that arrives
                    # with the result. One that is not delivered yet arrives here, not in what is awaited on the way
                    # out.
                    if (task := asyncio.current_task()) is not None and task.cancelling():
                        await asyncio.sleep(0)
                        raise asyncio.CancelledError
                    yield conn
            finally:
                if conn.broken:
                    self._doubted = monotonic()
                await self._give_back_connection(pool, conn)
        except DRIVER_ERRORS as error:
            raise translate_error(error) from None

    async def _take_connection(self) -> tuple[Pool, Connection]:
        """Take a connection that the server has not ended while it was idle, as a restart does."""
        began = monotonic()
        while True:
            if self._probed < self._doubted:
                await self._probe_server(self._doubted)
            pool = self._pool
            if pool is None:
                raise StoreDown("the store is closed")
            try:
                conn = await pool.getconn()
            except PoolTimeout:  # all are in use, or none can be made
                self._doubted = monotonic()
                raise
            try:  # a server that has ended it has said so: this costs no round trip
                for _ in range(2):  # the reason, and the end
                    conn.pgconn.consume_input()
                is_ended = conn.broken
            except OperationalError:
                is_ended = True
            if not is_ended:
                return pool, conn
            await self._give_back_connection(pool, conn)
            await self._probe_server(began)

    async def _probe_server(self, since: float) -> None:
        """Check that the server answers, unless a probe after `since` did. No connection is held meanwhile.

        This finds the database anew, and starts an embedded server that died. Without a server the pool is closed; a
        probe that is cancelled leaves the check to the next use. Raises StoreDown."""
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
        """Return a connection in a task of its own: a cancellation halfway would lose it for good."""
        returning = asyncio.create_task(_return_connection(pool, conn))
        self._returning.add(returning)
        returning.add_done_callback(self._returning.discard)
        await asyncio.shield(returning)

    @asynccontextmanager
    async def reading(self, scope: Scope, allowed: frozenset[str] | None = None) -> AsyncIterator[Connection]:
        """A read-only transaction in one space, of one snapshot; `allowed` hides every other category by row-level
        security."""
        await self._ensure_open()
        entered = {"space": scope.space, "allowed": sorted(allowed) if allowed is not None else None}
        async with self.connect() as conn, _send_transaction(conn, "snapshot"):
            await conn.execute(_READ["enter"], entered)
            yield conn

    @asynccontextmanager
    async def writing(self, scope: Scope, found_at: datetime | None = None) -> AsyncIterator[Connection]:
        """A transaction in one space, which is inserted when `found_at` is given, for statements that wait for each
        other. Raises TokenDeleted where it would be the space of a token that is deleted."""
        await self._ensure_open()
        async with self.connect() as conn, conn.transaction():
            async with conn.pipeline():
                await _set_session(conn)
                await _enter_space(conn, scope, found_at)
            yield conn

    @asynccontextmanager
    async def sending(self, scope: Scope, found_at: datetime | None = None) -> AsyncIterator[Connection]:
        """The same as `writing` in one round trip: statements are sent at once, and the first that fails ends the
        write.

        A cursor has its rows and its `rowcount` once they are fetched, and a fetch waits for the server."""
        async with self.statement(once=False) as conn:
            await _enter_space(conn, scope, found_at)
            yield conn

    @asynccontextmanager
    async def statement(self, *, once: bool = True) -> AsyncIterator[Connection]:
        """A statement that needs none before it: a transaction of its own (`once`), or with others after it as in
        `sending`.

        Behind a pooler the settings of the transaction go before it, in the same round trip when its rows are fetched
        afterwards: what a pipeline sends is one transaction."""
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
        """A transaction in no space, for statements that wait for each other."""
        await self._ensure_open()
        async with self.connect() as conn, conn.transaction():
            await _set_session(conn)
            yield conn

    @asynccontextmanager
    async def looking(self) -> AsyncIterator[Connection]:
        """A transaction in no space that opens nothing and probes no server, so that an embedded one that was stopped
        stays so. Raises StoreDown where no connection is at hand."""
        if self._pool is None:
            raise StoreDown("the store is closed")
        with translate_errors("a look"):
            async with self._pool.connection() as conn, conn.transaction():
                await _set_session(conn)
                yield conn

    @asynccontextmanager
    async def working(self) -> AsyncIterator[Connection]:
        """A transaction on the queue, in the role that works for all spaces, sent in one round trip as in `sending`."""
        async with self.statement(once=False) as conn:
            await conn.execute(_ROLES["worker"])
            yield conn

    @asynccontextmanager
    async def locking(self, lock: LiteralString) -> AsyncIterator[tuple[bool, Connection]]:
        """Try a lock of the whole database: yields whether this process has it meanwhile, and the connection.

        An idle transaction holds it: a lock of a session would stay with a pooler's connection when the client is gone.
        The statement is not prepared: it would keep its snapshot, and a concurrent index build waits for snapshots."""
        async with self.transaction() as conn:
            yield require_row(await (await conn.execute(lock, prepare=False)).fetchone())["mine"], conn

    async def _ensure_open(self) -> None:
        if self._pool is None or not self._checked:
            await self.open()

    async def _check_embedder(self) -> None:
        async with self.connect() as conn, conn.transaction():
            await _set_session(conn)
            row = await (await conn.execute(_SWITCH["active"])).fetchone()
            if row is None:
                await conn.execute(_ROLES["keeper"])
                await conn.execute(_SWITCH["first"], {"model": self.model})
                row = await (await conn.execute(_SWITCH["active"])).fetchone()
            active = require_row(row)["model"]
        if active != self.model:
            raise build_wrong_embedder(active, self.model)
        self._checked = True


@asynccontextmanager
async def _send_transaction(conn: Connection, begin: Literal["begin", "snapshot"]) -> AsyncIterator[None]:
    """A transaction that is sent as a whole and waited for once: the driver's own waits for its beginning and end,
    too."""
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
    """Read the answers to the statements after one that failed: the driver would log each as an error of its own."""
    with suppress(Error):
        await sent.sync()


async def _enter_space(conn: Connection, scope: Scope, found_at: datetime | None) -> None:
    await conn.execute(_WRITE["enter"], {"space": scope.space})
    if found_at is not None:
        if find_token_id(scope.tenant) is not None:
            await conn.execute(_WRITE["hold"], {"tenant": scope.tenant})
        owner = {"space": scope.space, "tenant": scope.tenant, "owner": scope.owner, "owner_type": scope.owner_type}
        await conn.execute(_WRITE["found_space"], owner | {"at": found_at})


async def _configure_connection(conn: Connection) -> None:
    watch_statements(conn)
    conn.raw_cursor = choose_raw_cursor()
    conn.silence_limit = read_silence_limit(conn)
    conn.is_direct = await enable_keepalive(conn)
    _widen_buffers(conn)
    await register_vector_async(conn)
    if conn.is_direct:
        await conn.execute(_SESSION["configure"], {"silence": conn.silence_limit, "local": False})


async def _set_session(conn: Connection) -> None:
    # Behind a pooler the settings of the connection are unknown.
    if not conn.is_direct:
        await conn.execute(_SESSION["configure"], {"silence": conn.silence_limit, "local": True})


def _widen_buffers(conn: Connection) -> None:
    # A bulk write packs its next rows while the server reads the former ones. Over a network the system does so itself.
    if (conn.info.host or "").startswith("/"):
        with socket.socket(fileno=os.dup(conn.fileno())) as duplicate:
            duplicate.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)


async def _return_connection(pool: Pool, conn: Connection) -> None:
    """Close a connection that is still in a pipeline, as one whose transaction was cancelled while it began: a later
    statement on it would not be committed."""
    try:
        if conn.info.pipeline_status is not PipelineStatus.OFF:
            await conn.close()
    finally:
        await pool.putconn(conn)


def require_row(row: DictRow | None) -> DictRow:
    """Return a row of a statement that always has one. Raises StoreError without it."""
    if row is None:
        raise StoreError("the database answered nothing")
    return row
