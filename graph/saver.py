"""LangGraph's Postgres saver over a pool, with redaction, one owner a thread and the product's errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, Literal, TypeAlias, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.runtime import Runtime
from psycopg import AsyncConnection, AsyncCursor, DataError, OperationalError
from psycopg.errors import (
    DiskFull,
    IdleInTransactionSessionTimeout,
    InsufficientPrivilege,
    InvalidSchemaName,
    ReadOnlySqlTransaction,
)
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from muniment.graph import tables
from muniment.graph.redaction import Redact, has_long_text, redact_value
from muniment.graph.serializer import MessageSerializer
from muniment.memory import bootstrap
from muniment.memory.errors import BadInput, Denied, NoCheckpoint, StoreDown, StoreError, StoreFull
from muniment.nodes.entry import get_identity, resolve_scope
from muniment.nodes.state import ID_CHANNELS, Who

SCHEMA = "checkpoints"
# Values that are part of a checkpoint's row, as the official saver has it.
_INLINE = (str, int, float, bool, type(None))

# The key of the runtime that LangGraph's loop adds to a config; a caller that only reads a thread does not.
_RUNTIME_KEY = "__pregel_runtime"


class CheckpointConnection(AsyncConnection[DictRow]):
    """A connection whose session has the search path of the schema; without an own session, each transaction has it."""

    has_own_session = True


CheckpointPool: TypeAlias = AsyncConnectionPool[CheckpointConnection]


async def check_connection(conn: CheckpointConnection) -> None:
    """Raises OperationalError for a connection that the server has ended while it was idle, as a restart does.

    The server has said so by then: this costs no round trip."""
    for _ in range(2):  # the reason, and the end
        conn.pgconn.consume_input()
    if conn.broken:
        raise OperationalError("the connection is lost")


class _NullLock(asyncio.Lock):
    """A lock that never waits."""

    async def acquire(self) -> Literal[True]:
        """True, at once."""
        return True

    def release(self) -> None:
        """Do nothing."""
        return


class PooledSaver(AsyncPostgresSaver):
    """The official saver with a pool and without its lock: no call waits for another.

    It redacts what it stores, since LangGraph saves a message before the first node runs."""

    def __init__(self, pool: CheckpointPool, redact: Redact, tenant: str | None = None) -> None:
        super().__init__(conn=cast("AsyncConnectionPool[AsyncConnection[DictRow]]", pool), serde=MessageSerializer())
        self.lock = _NullLock()
        self._pool = pool
        self._tenant = tenant
        self._redact = redact

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint, redacted. Raises NoCheckpoint, StoreDown, StoreFull, StoreError, and Denied for an update
        of the state that writes the owner."""
        if metadata.get("source") == "update" and "space" in new_versions:
            await self._check_owner_update(config, metadata, checkpoint["channel_values"].get("space"))
        redacted, redacted_config = checkpoint.copy(), config.copy()
        # The official saver stores every text, and of other values the new ones.
        values = {
            name: value
            for name, value in checkpoint["channel_values"].items()
            if name in new_versions or isinstance(value, str)
        }
        redact = partial(self._redact_channels, values)
        changed = await asyncio.to_thread(redact) if has_long_text(values) else redact()
        redacted["channel_values"] = checkpoint["channel_values"] | changed
        redacted_config["metadata"] = redact_value(
            config.get("metadata", {}), self._redact
        ) | self._make_owner_metadata(config)
        return await self._save(redacted_config, redacted, redact_value(metadata, self._redact), new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save the writes of a task, redacted. Raises StoreDown, StoreFull."""
        # As the official saver: special writes have a place of their own, which is replaced; others stay as they are.
        is_special = all(name in WRITES_IDX_MAP for name, _ in writes)
        places = {WRITES_IDX_MAP.get(name, n): (name, value) for n, (name, value) in enumerate(writes)}
        redact = partial(self._redact_writes, places.values())
        redacted = await asyncio.to_thread(redact) if has_long_text(dict(places.values())) else redact()
        dumped = [self.serde.dumps_typed(value) for value in redacted]
        where = config["configurable"]
        parameters = {
            "thread": where["thread_id"],
            "ns": where["checkpoint_ns"],
            "id": where["checkpoint_id"],
            "task": task_id,
            "path": task_path,
            "places": list(places),
            "channels": [name for name, _ in places.values()],
            "types": [kind for kind, _ in dumped],
            "blobs": [packed for _, packed in dumped],
        }
        async with self.cursor() as cursor:
            await cursor.execute(tables.REPLACE_WRITES if is_special else tables.ADD_WRITES, parameters)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that a config names; a run begins with this call.

        Raises NoCheckpoint for a run from a checkpoint that is gone, where LangGraph would begin the thread anew;
        Denied and BadInput for a run of another user in an owner's thread, before LangGraph saves or shows anything."""
        saved, where = await super().aget_tuple(config), config["configurable"]
        if _RUNTIME_KEY not in where or where.get("checkpoint_ns"):
            return saved
        if saved is not None:
            await self._check_owner(config, saved)
        elif where.get("checkpoint_id"):
            raise _make_missing_error(where)
        return saved

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """The writes of delta channels up to a checkpoint, in one snapshot of the database.

        Raises NoCheckpoint where a checkpoint is gone that a value needs: LangGraph would use what is left of it."""
        where = config["configurable"]
        async with translate_errors(), self._pool.connection() as conn, conn.transaction():
            await conn.execute("set transaction isolation level repeatable read")
            await set_search_path(conn)
            official = AsyncPostgresSaver(conn, serde=self.serde)
            histories = await official.aget_delta_channel_history(config=config, channels=channels)
            if incomplete := [name for name, history in histories.items() if "seed" not in history]:
                parameters = {"thread": where["thread_id"], "ns": where["checkpoint_ns"], "id": where["checkpoint_id"]}
                await _check_is_complete(await conn.execute(tables.OLDEST_VERSIONS, parameters), incomplete, where)
            return histories

    def _redact_channels(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self.redact_channel(name, value) for name, value in values.items()}

    def _redact_writes(self, writes: Iterable[tuple[str, Any]]) -> list[Any]:
        return [self.redact_channel(name, value) for name, value in writes]

    def redact_channel(self, channel: str, value: Any) -> Any:
        """The value of a channel as it is saved."""
        return value if channel in ID_CHANNELS else redact_value(value, self._redact)

    @asynccontextmanager
    async def cursor(self) -> AsyncIterator[AsyncCursor[DictRow]]:
        """A cursor for the saver's tables, on a connection of its own. Raises StoreDown, StoreFull."""
        async with self._cursor() as cursor:
            yield cursor

    async def _save(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint and the values of these versions by one statement, while its parent is locked.

        Where the janitor has removed the parent, of a run from an old checkpoint, all values are saved. So is one that
        the thread had in a delta channel, which this graph saves whole: no checkpoint has it yet."""
        where, values = config["configurable"], checkpoint["channel_values"]
        place = {"thread_id": where["thread_id"], "checkpoint_ns": where["checkpoint_ns"]}
        inline = {name: value for name, value in values.items() if isinstance(value, _INLINE)}
        # As the official saver: `true` stands for a snapshot, which is read from its blob.
        inline |= {name: True for name, value in values.items() if isinstance(value, _DeltaSnapshot)}
        stored = [name for name in values if name in versions and not isinstance(values[name], _INLINE)]
        dumped = [self.serde.dumps_typed(values[name]) for name in stored]
        parameters = {
            "thread": place["thread_id"],
            "ns": place["checkpoint_ns"],
            "id": checkpoint["id"],
            "parent": where.get("checkpoint_id"),
            "kept": [name for name in values if name not in versions],
            "channels": stored,
            "versions": [versions[name] for name in stored],
            "types": [kind for kind, _ in dumped],
            "blobs": [packed for _, packed in dumped],
            "checkpoint": Jsonb(checkpoint | {"channel_values": inline}),
            "metadata": Jsonb(get_serializable_checkpoint_metadata(config, metadata)),
        }
        async with self.cursor() as cursor:
            await cursor.execute(tables.SAVE_CHECKPOINT, parameters)
            row = await cursor.fetchone()
        if row and row["saved"]:
            return {"configurable": place | {"checkpoint_id": checkpoint["id"]}}
        if row and row["deltas"] is not None:
            whole = {name: checkpoint["channel_versions"][name] for name in values.keys() & set(row["deltas"])}
            return await self._save(config, checkpoint, metadata, versions | whole)
        if metadata.get("counters_since_delta_snapshot"):
            raise StoreError("The checkpoint that this run started from was removed while it ran.")
        # An update of a checkpoint that is gone: LangGraph has read nothing, and begun anew.
        if metadata.get("source") == "update" and set(versions) == set(checkpoint["channel_versions"]):
            raise _make_missing_error(where)
        return await self._save_orphan(config, checkpoint, metadata)

    async def _save_orphan(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
    ) -> RunnableConfig:
        """Save a checkpoint whose parent is gone, with all its values."""
        return await super().aput(config, checkpoint, metadata, checkpoint["channel_versions"])

    async def _check_owner(self, config: RunnableConfig, saved: CheckpointTuple) -> None:
        """Raises Denied for a run of another user.

        The thread of a consolidation is checked only with authentication: otherwise its input names the user."""
        values = saved.checkpoint["channel_values"]
        owner = values.get("space")
        if "asked" not in values and "portions" in values:
            owner = owner if self._is_authenticated(config) else None
        elif "asked" not in values:  # before a first turn of the supervisor, or another graph
            async with self.cursor() as cursor:
                await cursor.execute(tables.THREAD_OWNER, {"thread": config["configurable"]["thread_id"]})
                row = await cursor.fetchone()
            owner = row["space"] if row else None
        if owner is not None and self._resolve_space(config) not in {None, owner}:
            raise Denied("This thread belongs to another user.")

    async def _check_owner_update(self, config: RunnableConfig, metadata: CheckpointMetadata, written: Any) -> None:
        """Raises Denied for an owner that the checkpoint before has not. A copy may have lost the one before."""
        parent = config["configurable"].get("checkpoint_id")
        saved = await super().aget_tuple(config) if parent else None
        is_first = not parent and metadata.get("step", 0) <= 0
        if is_first or (saved is not None and saved.checkpoint["channel_values"].get("space") != written):
            raise Denied("The owner of a thread cannot be written.")

    def _make_owner_metadata(self, config: RunnableConfig) -> dict[str, str]:
        """The space of the run, for a checkpoint before the first step, which writes it into the state."""
        runtime = config["configurable"].get(_RUNTIME_KEY)
        if not isinstance(runtime, Runtime) or runtime.context is None:
            return {}
        try:
            space = self._resolve_space(config)
        except (Denied, BadInput):  # the first step raises it
            return {}
        return {"space": space} if space else {}

    def _resolve_space(self, config: RunnableConfig) -> str | None:
        """The space of the run, None for another graph and without a tenant. Raises Denied, BadInput."""
        runtime = config["configurable"].get(_RUNTIME_KEY)
        if not isinstance(runtime, Runtime) or not isinstance(runtime.context, Who | None):
            return None
        tenant = self._tenant or (runtime.context.tenant if runtime.context else None)
        return str(resolve_scope(runtime, config, tenant).space) if tenant else None

    def _is_authenticated(self, config: RunnableConfig) -> bool:
        runtime = config["configurable"].get(_RUNTIME_KEY)
        return isinstance(runtime, Runtime) and get_identity(runtime, config["configurable"]) is not None

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[AsyncCursor[DictRow]]:
        async with translate_errors(), self._pool.connection() as conn, AsyncExitStack() as stack:
            if pipeline or not conn.has_own_session:
                await stack.enter_async_context(conn.pipeline())
            if not conn.has_own_session:
                await stack.enter_async_context(conn.transaction())
                await set_search_path(conn)
            yield await stack.enter_async_context(conn.cursor(binary=True, row_factory=dict_row))


def _make_missing_error(where: dict[str, Any]) -> NoCheckpoint:
    return NoCheckpoint(
        "The thread has no checkpoint of this id, or has none any more: old ones are pruned. "
        "Go on from its end, or from one that its history shows.",
        thread=str(where["thread_id"]),
        checkpoint=str(where["checkpoint_id"]),
    )


async def _check_is_complete(oldest: AsyncCursor[DictRow], channels: Iterable[str], where: dict[str, Any]) -> None:
    """Raises NoCheckpoint where one of the channels had a value before the oldest checkpoint."""
    row = await oldest.fetchone()
    if row is None:
        raise _make_missing_error(where)
    if not row["versions"].keys().isdisjoint(channels):
        raise NoCheckpoint(
            "Earlier checkpoints, which this one cannot be read without, were removed, and not by this janitor.",
            thread=str(where["thread_id"]),
            checkpoint=str(where["checkpoint_id"]),
        )


@asynccontextmanager
async def translate_errors() -> AsyncIterator[None]:
    """Errors of the driver as the product's. Raises StoreDown, StoreFull, StoreError, BadInput, Denied."""
    try:
        yield
    except DiskFull:
        raise StoreFull from None
    except DataError:
        raise BadInput("A text has a NUL or half a character, which the database cannot store.") from None
    except (InsufficientPrivilege, InvalidSchemaName) as error:  # Postgres hides a schema that a role may not use
        raise Denied(
            f"The database's role may not use the checkpoints (schema {SCHEMA}): {error.diag.message_primary} "
            "(MUNIMENT_CHECKPOINTS_URL, or else MUNIMENT_DATABASE_URL, names it).",
            sqlstate=error.sqlstate,
        ) from None
    except ReadOnlySqlTransaction:
        raise StoreError("The database of the checkpoints is read-only, as a replica is: name its primary.") from None
    except (OperationalError, IdleInTransactionSessionTimeout, PoolTimeout, PoolClosed):
        raise StoreDown("The database of the checkpoints cannot be reached.") from None


async def set_search_path(conn: CheckpointConnection) -> None:
    """Set the transaction's search path, where the session is not the connection's own."""
    if not conn.has_own_session:
        await conn.execute(tables.SET_SEARCH_PATH, (SCHEMA, bootstrap.read_silence_limit(conn)))
