"""The janitor of the checkpoints: it removes what neither a run nor a return to one of the latest steps needs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from muniment.graph import tables
from muniment.graph.retention import CheckpointKey, CheckpointRow, select_retained
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import SpaceId
from muniment.memory.errors import Busy, NoCheckpoint, StoreError

_log = logging.getLogger(__name__)
_LOCK = 0x6A616E69746F72  # the advisory lock of the one janitor of a database: "janitor"
_PAGE_SIZE = 200  # threads that are read at once
_BATCH = 500  # checkpoints of a thread that are removed in one transaction
_STOP_SECONDS = 0.5
_PAUSE_SECONDS = 0.01  # between two transactions, for the runs that wait

OnProgress = Callable[[int], None]


class CheckpointTables(Protocol):
    """Access to the saver's tables, such as `PooledSaver`."""

    def cursor(self) -> AbstractAsyncContextManager[Any]:
        """A cursor for the saver's tables. Raises StoreDown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneResult:
    """What was removed: rows of the saver's tables and their bytes, the number of threads, and of whole threads."""

    threads: int = 0
    whole: int = 0
    checkpoints: int = 0
    writes: int = 0
    blobs: int = 0
    bytes: int = 0

    def __add__(self, other: PruneResult) -> PruneResult:
        return PruneResult(
            **{field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(self)}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSize:
    """The size of a thread: checkpoints, bytes on the disk, and the times of the first and the last one, ISO."""

    thread: str
    checkpoints: int
    bytes: int
    oldest: str
    newest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSizes:
    """The largest threads, and how many threads and bytes there are in all."""

    largest: tuple[ThreadSize, ...] = ()
    threads: int = 0
    bytes: int = 0


async def prune_threads(
    saver: CheckpointTables,
    *,
    keep: int,
    days: float | None = None,
    threads: Sequence[str] | None = None,
    dry: bool = False,
    on_progress: OnProgress | None = None,
) -> PruneResult:
    """Keep of each thread the newest `keep` checkpoints of a namespace with all that they need, and nothing of a thread
    that has not changed for `days`. `dry` only counts; `on_progress` is called with 1 for each thread.

    It may be interrupted, and run beside others. Raises NoCheckpoint for a named thread that has none, Busy while
    another process prunes, StoreDown."""
    for thread in threads or ():
        await _check_thread_exists(saver, thread)
    async with _try_lock(saver) as has_lock:
        if not has_lock:
            raise Busy.from_process(
                "another process is pruning checkpoints", "wait until it is done", **await _find_lock_holder(saver)
            )
        return await _prune_round(saver, keep, days, threads, dry=dry, on_progress=on_progress)


async def delete_threads(saver: CheckpointTables, threads: Iterable[str]) -> dict[str, int]:
    """Remove threads for good; the rows by table. A run under way may still save its state. Raises StoreDown."""
    async with saver.cursor() as cursor:
        await cursor.execute(tables.DELETE_THREADS, {"threads": list(threads)})
        row = await cursor.fetchone()
    return {name: int(count) for name, count in (row or {}).items()}


async def list_space_threads(saver: CheckpointTables, space: SpaceId) -> list[str]:
    """The threads of this product's graphs that belong to a space. Raises StoreDown."""
    async with saver.cursor() as cursor:
        await cursor.execute(tables.SPACE_THREADS, {"space": str(space)})
        return [str(row["thread_id"]) for row in await cursor.fetchall()]


async def list_threads(saver: CheckpointTables) -> list[str]:
    """All threads, of any graph. Raises StoreDown."""
    async with saver.cursor() as cursor:
        await cursor.execute(tables.ALL_THREADS)
        return [str(row["thread_id"]) for row in await cursor.fetchall()]


async def measure_threads(saver: CheckpointTables, limit: int, space: SpaceId | None = None) -> ThreadSizes:
    """The largest threads of a space, or of all. Raises StoreDown."""
    async with saver.cursor() as cursor:
        parameters = {"space": str(space), "limit": limit}
        await cursor.execute(tables.SPACE_THREAD_SIZES if space else tables.THREAD_SIZES, parameters)
        rows = await cursor.fetchall()
    if not rows:
        return ThreadSizes()
    largest = tuple(
        ThreadSize(
            thread=row["thread"],
            checkpoints=row["checkpoints"],
            bytes=row["bytes"],
            oldest=row["oldest"] or "",
            newest=row["newest"] or "",
        )
        for row in rows
    )
    return ThreadSizes(largest=largest, threads=rows[0]["threads"], bytes=rows[0]["total"])


@asynccontextmanager
async def run_janitor(saver: CheckpointTables, settings: Settings) -> AsyncIterator[None]:
    """Prune while the context is open, one process of all once in `session_ledger.cleanup_interval_seconds`."""
    task = asyncio.create_task(_prune_periodically(saver, settings))
    try:
        yield
    finally:
        while not task.done():  # Python before 3.12 loses a cancellation that comes together with a connection
            task.cancel()
            await asyncio.wait([task], timeout=_STOP_SECONDS)
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error


async def _check_thread_exists(saver: CheckpointTables, thread: str) -> None:
    async with saver.cursor() as cursor:
        await cursor.execute(tables.HAS_THREAD, (thread,))
        row = await cursor.fetchone()
    if not row["yes"]:
        raise NoCheckpoint(f"There is no thread {thread!r}.", thread=thread)


async def _prune_periodically(saver: CheckpointTables, settings: Settings) -> None:
    if not settings.session_ledger.run_on_startup:
        await asyncio.sleep(settings.session_ledger.cleanup_interval_seconds)
    while True:
        try:
            result = await prune_if_due(saver, settings)
            if result is not None:
                _log.info(
                    "checkpoints pruned: %d of %d threads, %d bytes", result.checkpoints, result.threads, result.bytes
                )
        except StoreError as error:  # the next round tries again
            _log.warning("checkpoints not pruned: %s", type(error).__name__)
        await asyncio.sleep(settings.session_ledger.cleanup_interval_seconds)


async def prune_if_due(saver: CheckpointTables, settings: Settings) -> PruneResult | None:
    """Prune by the settings; None when another process does, or did so within the interval. Raises StoreDown."""
    async with _try_lock(saver) as has_lock:
        if not has_lock:
            return None
        async with saver.cursor() as cursor:
            await cursor.execute(tables.CLAIM_ROUND, (settings.session_ledger.cleanup_interval_seconds,))
            if await cursor.fetchone() is None:
                return None
        rules = settings.checkpoints
        return await _prune_round(saver, rules.keep, rules.ttl_days)


async def _find_lock_holder(saver: CheckpointTables) -> dict[str, Any]:
    async with saver.cursor() as cursor:
        await cursor.execute(tables.LOCK_HOLDER, (_LOCK,))
        return await cursor.fetchone() or {}


@asynccontextmanager
async def _try_lock(saver: CheckpointTables) -> AsyncIterator[bool]:
    """Take the janitor's lock; False where another process has it. It ends with its transaction."""
    async with saver.cursor() as cursor, cursor.connection.transaction():
        await cursor.execute(tables.TRY_LOCK, (_LOCK,))
        row = await cursor.fetchone()
        yield bool(row and row["yes"])


async def _prune_round(
    saver: CheckpointTables,
    keep: int,
    days: float | None,
    threads: Sequence[str] | None = None,
    *,
    dry: bool = False,
    on_progress: OnProgress | None = None,
) -> PruneResult:
    # In the saver's format, so that texts compare as times do.
    before = (datetime.now(UTC) - timedelta(days=days)).isoformat() if days is not None else ""
    total = PruneResult()
    async for thread in _find_crowded_threads(saver, keep, before, threads):
        result = PruneResult()
        while True:
            batch_result = await _prune_batch(saver, thread, keep, before, dry=dry)
            result += batch_result
            if dry or not batch_result.checkpoints:
                break
            await asyncio.sleep(_PAUSE_SECONDS)
        total += replace(result, threads=int(result.checkpoints > 0))
        if on_progress is not None:
            on_progress(1)
    return total


async def _find_crowded_threads(
    saver: CheckpointTables, keep: int, before: str, threads: Sequence[str] | None
) -> AsyncIterator[str]:
    """The threads that may have something to remove."""
    if threads is not None:
        for thread in threads:
            yield thread
        return
    last = ""
    while True:
        parameters = {"after": last, "keep": keep, "before": before, "limit": _PAGE_SIZE}
        async with saver.cursor() as cursor:
            await cursor.execute(tables.CROWDED_THREADS, parameters)
            page = [str(row["thread_id"]) for row in await cursor.fetchall()]
        for thread in page:
            yield thread
        if len(page) < _PAGE_SIZE:
            return
        last = page[-1]


async def _prune_batch(saver: CheckpointTables, thread: str, keep: int, before: str, *, dry: bool) -> PruneResult:
    """Remove checkpoints of a thread in one transaction; an empty result when there are none to remove.

    The newest go first, so that the rest has all its ancestors at any moment. A run that saves a checkpoint whose
    parent is removed waits for the parent's lock; one that was saved just before is seen by the second selection."""
    limit = None if dry else _BATCH
    async with saver.cursor() as cursor, cursor.connection.transaction(force_rollback=dry):
        places, whole = await _select_prunable(cursor, thread, keep, before, limit)
        if not places:
            return PruneResult()
        await cursor.execute(tables.LOCK_CHECKPOINTS, _make_parameters(thread, places))
        still_prunable, whole = await _select_prunable(cursor, thread, keep, before, None)
        parameters = _make_parameters(thread, [place for place in places if place in set(still_prunable)])
        checkpoints, size = await _execute_counted(cursor, tables.REMOVE_CHECKPOINTS, parameters)
        await cursor.execute(tables.FORGET_PARENTS, parameters)
        writes, of_writes = await _execute_counted(cursor, tables.REMOVE_WRITES, parameters)
        blobs, of_blobs = await _execute_counted(cursor, tables.REMOVE_BLOBS, parameters)
    return PruneResult(
        whole=int(whole), checkpoints=checkpoints, writes=writes, blobs=blobs, bytes=size + of_writes + of_blobs
    )


async def _select_prunable(
    cursor: Any, thread: str, keep: int, before: str, limit: int | None
) -> tuple[list[CheckpointKey], bool]:
    """The checkpoints to remove, newest first, at most `limit`; and whether the whole thread goes, all at once."""
    await cursor.execute(tables.CHECKPOINT_ROWS, {"thread": thread})
    points = [CheckpointRow(**row) for row in await cursor.fetchall()]
    if points and max(point.at for point in points) < before:
        return [point.key for point in points], True
    retained = select_retained(points, keep)
    prunable = sorted(
        (point.key for point in points if point.key not in retained), key=lambda key: key[1], reverse=True
    )
    return prunable[:limit], False


async def _execute_counted(cursor: Any, statement: str, parameters: dict[str, Any]) -> tuple[int, int]:
    await cursor.execute(statement, parameters)
    row = await cursor.fetchone()
    return int(row["rows"]), int(row["bytes"])


def _make_parameters(thread: str, places: Sequence[CheckpointKey]) -> dict[str, Any]:
    ids = [id_ for _, id_ in places]
    return {"thread": thread, "ns": [ns for ns, _ in places], "ids": ids, "last": max(ids, default="")}
