"""LangGraph's checkpoints in the same Postgres, in a schema of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import lru_cache
from typing import Any, Literal, TypeAlias, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.runtime import Runtime
from psycopg import AsyncConnection, AsyncCursor, DataError, OperationalError
from psycopg.errors import (
    DiskFull,
    IdleInTransactionSessionTimeout,
    InsufficientPrivilege,
    InvalidSchemaName,
    LockNotAvailable,
    ReadOnlySqlTransaction,
)
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from muniment.graph import tables
from muniment.graph.janitor import tidying
from muniment.graph.redaction import Redact, safe
from muniment.memory import bootstrap
from muniment.memory.config.settings import Settings, load
from muniment.memory.errors import BadInput, Denied, NoCheckpoint, StoreDown, StoreError, StoreFull
from muniment.nodes.state import IDS, Who, identity, scope

SCHEMA = "checkpoints"
_SETUP_LOCK = 0x6D756E696D656E74  # the advisory lock of whoever makes the tables: "muniment"
_SETUP_POLL_SECONDS = 0.05
_PATIENCE_SECONDS = 3
_CONNECT_SECONDS = 10.0
_CONNECTIONS = 8
_KNOWN_TEXTS = 4096  # a thread's messages are stored again with each of its checkpoints

# What LangGraph's loop puts beside the thread's name; whoever only looks at a thread does not.
_OF_A_RUN = "__pregel_runtime"


class Connection(AsyncConnection[DictRow]):
    """The saver's SQL names no schema: the session says it, or each transaction where the session is not its `own`."""

    own = True


Pool: TypeAlias = AsyncConnectionPool[Connection]


class _Turnstile(asyncio.Lock):
    """A lock that lets everybody pass."""

    async def acquire(self) -> Literal[True]:
        return True

    def release(self) -> None:
        return None


class _ParentGone(Exception):
    """What a checkpoint shares with its parent may be gone with it."""


class PooledSaver(AsyncPostgresSaver):
    """The official saver without its lock: each call has a connection of the pool to itself, so none waits for another.

    What it stores is redacted: LangGraph saves a message before any node has seen it."""

    def __init__(self, pool: Pool, redact: Redact, tenant: str | None = None) -> None:
        super().__init__(conn=cast("AsyncConnectionPool[AsyncConnection[DictRow]]", pool))
        self.lock = _Turnstile()
        self._pool = pool
        self._tenant = tenant
        self._redact = lru_cache(_KNOWN_TEXTS)(redact)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """See `BaseCheckpointSaver.aput`."""
        held, told = checkpoint.copy(), config.copy()
        # Stored are the texts, and of the rest what is new.
        held["channel_values"] = {
            name: self.stored(name, one) if name in new_versions or isinstance(one, str) else one
            for name, one in checkpoint["channel_values"].items()
        }
        told["metadata"] = safe(config.get("metadata", {}), self._redact) | self._of_whom(config)
        return await self._after(told, held, safe(metadata, self._redact), new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """See `BaseCheckpointSaver.aput_writes`."""
        held = [(name, self.stored(name, value)) for name, value in writes]
        await super().aput_writes(config, held, task_id, task_path)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See `BaseCheckpointSaver.aget_tuple`. With this call a run begins. Raises NoCheckpoint for one that is to go on from a
        checkpoint that is not there any more, where LangGraph would begin the thread anew; Denied and BadInput for one of
        somebody else in an owner's thread, before LangGraph saves what he says, or answers, and shows what is there."""
        found, where = await super().aget_tuple(config), config["configurable"]
        if _OF_A_RUN not in where or where.get("checkpoint_ns"):
            return found
        if found is not None:
            await self._admit(config, found)
        elif where.get("checkpoint_id"):
            raise _gone(where)
        return found

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """See `BaseCheckpointSaver.aget_delta_channel_history`; all of it is of one moment, whoever prunes. Raises NoCheckpoint
        where a checkpoint that a value cannot be read without is gone: LangGraph would take what is left for all of it."""
        where = config["configurable"]
        async with _translated(), self._pool.connection() as conn, conn.transaction():
            await conn.execute("set transaction isolation level repeatable read")
            await _placed(conn)
            official = AsyncPostgresSaver(conn, serde=self.serde)
            found = await official.aget_delta_channel_history(config=config, channels=channels)
            if without := [name for name, one in found.items() if "seed" not in one]:
                named = {"thread": where["thread_id"], "ns": where["checkpoint_ns"], "id": where["checkpoint_id"]}
                await _must_begin(await conn.execute(tables.OLDEST, named), without, where)
            return found

    def stored(self, channel: str, value: Any) -> Any:
        """What becomes of a channel's value when it is saved."""
        return value if channel in IDS else safe(value, self._redact)

    @asynccontextmanager
    async def cursor(self) -> AsyncIterator[AsyncCursor[DictRow]]:
        """A connection to the saver's tables, for as long as it is wanted. Raises StoreDown, StoreFull."""
        async with self._cursor() as cursor:
            yield cursor

    async def _after(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint while its parent stays: the values that it shares with it are there then. Where the janitor was
        quicker, which a run that started from an old checkpoint may meet, all its values are saved with it."""
        where = config["configurable"]
        if not (parent := where.get("checkpoint_id")):
            return await super().aput(config, checkpoint, metadata, new_versions)
        try:
            async with _translated(), self._pool.connection() as conn, conn.pipeline(), conn.transaction():
                await _placed(conn)
                # Asked first and read last: in a pipeline the answer costs no round trip of its own.
                held = await conn.execute(tables.HOLD_PARENT, (where["thread_id"], where["checkpoint_ns"], parent))
                official = AsyncPostgresSaver(conn, serde=self.serde)
                saved = await official.aput(config, checkpoint, metadata, new_versions)
                # A graph that saves whole what this thread had by a delta channel: the value is in no checkpoint yet.
                whole = checkpoint["channel_values"].keys() & await _still_held(held) - new_versions.keys()
                if whole:
                    versions = {name: checkpoint["channel_versions"][name] for name in whole}
                    await official.aput(config, checkpoint, metadata, versions)
                return saved
        except _ParentGone:
            if metadata.get("counters_since_delta_snapshot"):
                raise StoreError("The checkpoint that this run started from was removed while it ran.") from None
            # An update of a checkpoint that is gone: LangGraph has found nothing, and begun anew.
            if metadata.get("source") == "update" and set(new_versions) == set(checkpoint["channel_versions"]):
                raise _gone(where) from None
            return await super().aput(config, checkpoint, metadata, checkpoint["channel_versions"])

    async def _admit(self, config: RunnableConfig, found: CheckpointTuple) -> None:
        """Raises Denied for a run of somebody else. Of a consolidation's thread only who is logged in is one: otherwise its user
        is in its input, and who goes on with it is no stranger."""
        values = found.checkpoint["channel_values"]
        owner = values.get("space")
        if "asked" not in values and "portions" in values:
            owner = owner if self._logged_in(config) else None
        elif "asked" not in values:  # before a first turn of the supervisor, or another graph
            async with self.cursor() as cursor:
                await cursor.execute(tables.OWNER, {"thread": config["configurable"]["thread_id"]})
                row = await cursor.fetchone()
            owner = row["space"] if row else None
        if owner is not None and self._space(config) not in {None, owner}:
            raise Denied("This thread belongs to another user.")

    def _of_whom(self, config: RunnableConfig) -> dict[str, str]:
        """Whose run this is, for a checkpoint that comes before the step that writes it into the state."""
        runtime = config["configurable"].get(_OF_A_RUN)
        if not isinstance(runtime, Runtime) or runtime.context is None:  # of whatever graph
            return {}
        try:
            space = self._space(config)
        except (Denied, BadInput):  # which the first step tells
            return {}
        return {"space": space} if space else {}

    def _space(self, config: RunnableConfig) -> str | None:
        """The space of whoever runs, None when that cannot be known here. Raises Denied, BadInput."""
        runtime = config["configurable"].get(_OF_A_RUN)
        if not isinstance(runtime, Runtime) or not isinstance(runtime.context, Who | None):
            return None
        tenant = self._tenant or (runtime.context.tenant if runtime.context else None)
        return str(scope(runtime, config, tenant).space) if tenant else None

    def _logged_in(self, config: RunnableConfig) -> bool:
        runtime = config["configurable"].get(_OF_A_RUN)
        return isinstance(runtime, Runtime) and identity(runtime, config["configurable"]) is not None

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[AsyncCursor[DictRow]]:
        async with _translated(), self._pool.connection() as conn, AsyncExitStack() as stack:
            if pipeline or not conn.own:
                await stack.enter_async_context(conn.pipeline())
            if not conn.own:
                await stack.enter_async_context(conn.transaction())
                await _placed(conn)
            yield await stack.enter_async_context(conn.cursor(binary=True, row_factory=dict_row))


def _gone(where: dict[str, Any]) -> NoCheckpoint:
    return NoCheckpoint(
        "The thread has no checkpoint of this id, or has none any more: old ones are pruned. "
        "Go on from its end, or from one that its history shows.",
        thread=str(where["thread_id"]), checkpoint=str(where["checkpoint_id"]),
    )  # fmt: skip


async def _still_held(parent: AsyncCursor[DictRow]) -> set[str]:
    """The channels whose values are in the parent's ancestors. Raises _ParentGone."""
    row = await parent.fetchone()
    if row is None:
        raise _ParentGone
    return set(row["deltas"])


async def _must_begin(oldest: AsyncCursor[DictRow], channels: Iterable[str], where: dict[str, Any]) -> None:
    """Nothing was in these channels when the oldest checkpoint was saved. Raises NoCheckpoint."""
    row = await oldest.fetchone()
    if row is None:
        raise _gone(where)
    if not row["versions"].keys().isdisjoint(channels):
        raise NoCheckpoint(
            "Earlier checkpoints, which this one cannot be read without, were removed, and not by this janitor.",
            thread=str(where["thread_id"]), checkpoint=str(where["checkpoint_id"]),
        )  # fmt: skip


@asynccontextmanager
async def _translated() -> AsyncIterator[None]:
    try:
        yield
    except DiskFull:
        raise StoreFull from None
    except DataError:
        raise BadInput("A text has a NUL or half a character, which the database cannot store.") from None
    except (InsufficientPrivilege, InvalidSchemaName) as error:  # of a schema that one may not use nothing is said
        raise Denied(f"The database's role may not use the checkpoints (schema {SCHEMA}): {error.diag.message_primary} "
                     "(MUNIMENT_CHECKPOINTS_URL, or else MUNIMENT_DATABASE_URL, names it).", sqlstate=error.sqlstate) from None  # fmt: skip
    except ReadOnlySqlTransaction:
        raise StoreError("The database of the checkpoints is read-only, as a replica is: name its primary.") from None
    except (OperationalError, IdleInTransactionSessionTimeout, PoolTimeout, PoolClosed):
        raise StoreDown("The database of the checkpoints cannot be reached.") from None


@asynccontextmanager
async def open_saver(dsn: str, redact: Redact | None = None, tenant: str | None = None) -> AsyncIterator[PooledSaver]:
    """A saver for concurrent use over a pool of its own; makes its tables if need be. Raises StoreDown, and Denied for a role
    that may not.

    Without a `redact` it takes out what is a secret under any settings. `tenant` is the one of whoever names none: with it
    an erasure also finds a thread whose first turn was cut short."""
    pool: Pool = AsyncConnectionPool(
        dsn, min_size=1, max_size=_CONNECTIONS, open=False, timeout=_CONNECT_SECONDS, configure=_enter,
        check=AsyncConnectionPool.check_connection, name="checkpoints", connection_class=Connection,
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
    )  # fmt: skip
    try:
        async with _translated():
            await pool.open(wait=True, timeout=_CONNECT_SECONDS)
            async with pool.connection() as conn:
                await _make(conn)
        yield PooledSaver(pool, redact or bootstrap.redactor(), tenant)
    finally:
        await pool.close()


@asynccontextmanager
async def open_savers(settings: Settings, redact: Redact | None = None) -> AsyncIterator[list[PooledSaver]]:
    """Savers of all places that may hold checkpoints: where the settings keep them and, where that is a database of its own,
    the memory's, if threads were kept there before. Raises BadConfig, StoreDown."""
    address = await bootstrap.threads_database(settings)
    async with AsyncExitStack() as stack:
        savers = [await stack.enter_async_context(open_saver(address, redact, settings.tenant))]
        if settings.checkpoints_url:
            before = await bootstrap.database(settings)
            if not await bootstrap.one_database(address, before) and await _is_place(before):
                savers.append(await stack.enter_async_context(open_saver(before, redact, settings.tenant)))
        yield savers


@asynccontextmanager
async def checkpointer() -> AsyncIterator[PooledSaver]:
    """The saver of LangGraph's server, by the settings of this process, and beside it a worker for the background jobs and
    the janitor: the server enters this once and stays inside. Raises BadConfig, StoreDown."""
    settings = load()
    async with (
        open_saver(await bootstrap.threads_database(settings), bootstrap.redactor(settings), settings.tenant) as saver,
        tidying(saver, settings),
        bootstrap.memory(settings) as memory,
        bootstrap.working(settings, memory),
    ):
        yield saver


async def _enter(conn: Connection) -> None:
    conn.own = await bootstrap.heeded(conn)
    if conn.own:
        await conn.execute(f"set search_path to {SCHEMA}")


async def _placed(conn: Connection) -> None:
    if not conn.own:
        await conn.execute(tables.PLACE, (SCHEMA, bootstrap.silence(conn)))


async def _is_place(dsn: str) -> bool:
    """Whether a database has the saver's tables."""
    async with (
        _translated(),
        await AsyncConnection[DictRow].connect(dsn, autocommit=True, row_factory=dict_row) as conn,
    ):
        return await _true(conn, f"select to_regclass('{SCHEMA}.checkpoints') is not null as yes")


async def _make(conn: Connection) -> None:
    """Make the schema and the tables, one process at a time."""
    async with _alone(conn):
        # Asked first, because `if not exists` wants the right to create even where nothing is to be created.
        if not await _true(conn, f"select exists (select from pg_namespace where nspname = '{SCHEMA}') as yes"):
            await conn.execute(f"create schema {SCHEMA}")
        official = AsyncPostgresSaver(conn)
        if not conn.own:  # in the transaction of the lock
            official.MIGRATIONS = [step.replace("CONCURRENTLY ", "") for step in official.MIGRATIONS]
        await official.setup()
        if not await _true(conn, "select to_regclass('janitor') is not null as yes"):
            await conn.execute(tables.JANITOR)
        if conn.own and await _true(conn, tables.NEEDS_INDEX):  # it is made outside any transaction
            await _index(conn)
        if await _true(conn, tables.NEEDS_THREADS):
            await conn.execute(tables.THREADS)


@asynccontextmanager
async def _alone(conn: Connection) -> AsyncIterator[None]:
    """With a lock of the session; behind a pooler, where it would stay with a connection of somebody else, in one transaction.

    The lock is polled: whoever waits inside a statement is waited for by `create index concurrently`, for ever."""
    async with AsyncExitStack() as stack:
        if not conn.own:
            await stack.enter_async_context(conn.transaction())
            await _placed(conn)
        kind = "" if conn.own else "xact_"
        while not await _true(conn, f"select pg_try_advisory_{kind}lock({_SETUP_LOCK}) as yes"):  # noqa: ASYNC110 - another process
            await asyncio.sleep(_SETUP_POLL_SECONDS)
        try:
            yield
        finally:
            if conn.own:
                await conn.execute(f"select pg_advisory_unlock({_SETUP_LOCK})")


async def _index(conn: Connection) -> None:
    """Make the index, unless somebody who looks for long, such as a dump, would have to be waited for: the next start does it."""
    await conn.execute(f"set lock_timeout = '{_PATIENCE_SECONDS}s'")
    with suppress(LockNotAvailable):
        await conn.execute(tables.DROP_INDEX)
        await conn.execute(tables.SPACES_INDEX)
    await conn.execute("reset lock_timeout")


async def _true(conn: AsyncConnection[DictRow], question: Any) -> bool:
    row = await (await conn.execute(question)).fetchone()
    return bool(row and row["yes"])
