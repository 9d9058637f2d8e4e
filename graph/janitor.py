"""The janitor of the checkpoints: what no run, no question and no return to an earlier one of the last steps needs, goes."""

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
_PAGE_SIZE = 200  # asked for at once
_BATCH = 500  # checkpoints of a thread that go in one transaction
_STOP_SECONDS = 0.5
_PAUSE_SECONDS = 0.01  # between two transactions: whoever talks comes first

OnProgress = Callable[[int], None]


class CheckpointTables(Protocol):
    """Whoever has the saver's tables, such as `PooledSaver`."""

    def cursor(self) -> AbstractAsyncContextManager[Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneResult:
    """What a round of the janitor removed: rows of the saver's tables and their bytes, of so many threads, some whole."""

    threads: int = 0
    whole: int = 0
    checkpoints: int = 0
    writes: int = 0
    blobs: int = 0
    bytes: int = 0

    def __add__(self, other: PruneResult) -> PruneResult:
        return PruneResult(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSize:
    """What a thread takes: checkpoints, bytes on the disk, and when the first and the last one were made, ISO."""

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
    """Leave of each thread the newest `keep` checkpoints of a namespace with all that they need, and of a thread that
    nobody has touched for so many days nothing. `told` hears of each thread; `dry` only counts.

    May be interrupted anywhere, and done beside any run. Raises NoCheckpoint for a named thread that has none, Busy while
    another process does it, StoreDown."""
    for thread in threads or ():
        await _check_thread_exists(saver, thread)
    async with _try_lock(saver) as has_lock:
        if not has_lock:
            raise Busy.from_process(
                "another process is pruning checkpoints", "wait until it is done", **await _find_lock_holder(saver)
            )
        return await _prune_round(saver, keep, days, threads, dry=dry, on_progress=on_progress)


async def delete_threads(saver: CheckpointTables, threads: Iterable[str]) -> dict[str, int]:
    """Remove threads for good; the rows by table. A run that is under way may still save what it holds. Raises StoreDown."""
    async with saver.cursor() as cursor:
        await cursor.execute(tables.DELETE_THREADS, {"threads": list(threads)})
        row = await cursor.fetchone()
    return {name: int(count) for name, count in (row or {}).items()}


async def list_space_threads(saver: CheckpointTables, space: SpaceId) -> list[str]:
    """The threads of our graphs that belong to a space."""
    async with saver.cursor() as cursor:
        await cursor.execute(tables.SPACE_THREADS, {"space": str(space)})
        return [str(row["thread_id"]) for row in await cursor.fetchall()]


async def list_threads(saver: CheckpointTables) -> list[str]:
    """The threads that there are, of whatever graph."""
    async with saver.cursor() as cursor:
        await cursor.execute(tables.ALL_THREADS)
        return [str(row["thread_id"]) for row in await cursor.fetchall()]


async def measure_threads(saver: CheckpointTables, limit: int, space: SpaceId | None = None) -> ThreadSizes:
    """The largest threads of a space, or of all."""
    async with saver.cursor() as cursor:
        parameters = {"space": str(space), "limit": limit}
        await cursor.execute(tables.SPACE_THREAD_SIZES if space else tables.THREAD_SIZES, parameters)
        rows = await cursor.fetchall()
    if not rows:
        return ThreadSizes()
    return ThreadSizes(
        largest=tuple(
            ThreadSize(thread=row["thread"], checkpoints=row["checkpoints"], bytes=row["bytes"], oldest=row["oldest"] or "",
                 newest=row["newest"] or "")
            for row in rows
        ),
        threads=rows[0]["threads"],
        bytes=rows[0]["total"],
    )  # fmt: skip


@asynccontextmanager
async def run_janitor(saver: CheckpointTables, settings: Settings) -> AsyncIterator[None]:
    """Beside what happens inside, one process of all prunes once in `session_ledger.cleanup_interval_seconds`."""
    task = asyncio.create_task(_prune_periodically(saver, settings))
    try:
        yield
    finally:
        while not task.done():  # before Python 3.12 a cancellation that comes together with a connection is forgotten
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
    interval = settings.session_ledger.cleanup_interval_seconds
    if not settings.session_ledger.run_on_startup:
        await asyncio.sleep(interval)
    while True:
        try:
            result = await prune_if_due(saver, settings)
            if result is not None:
                _log.info(
                    "checkpoints pruned: %d of %d threads, %d bytes", result.checkpoints, result.threads, result.bytes
                )
        except StoreError as error:  # the next time will do
            _log.warning("checkpoints not pruned: %s", type(error).__name__)
        await asyncio.sleep(interval)


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
    """Whether nobody else prunes. The lock ends with its transaction, and so with this process, however it ends."""
    async with saver.cursor() as cursor, cursor.connection.transaction():
        await cursor.execute(tables.TRY_LOCK, (_LOCK,))
        row = await cursor.fetchone()
        yield bool(row and row["yes"])


async def _prune_round(
    saver: CheckpointTables, keep: int, days: float | None, threads: Sequence[str] | None = None, *, dry: bool = False,
    on_progress: OnProgress | None = None,
) -> PruneResult:  # fmt: skip
    # As the saver writes times, so that texts compare as times do.
    before = (datetime.now(UTC) - timedelta(days=days)).isoformat() if days is not None else ""
    freed = PruneResult()
    async for thread in _find_crowded_threads(saver, keep, before, threads):
        one = PruneResult()
        while True:
            batch_result = await _prune_batch(saver, thread, keep, before, dry=dry)
            one += batch_result
            if dry or not batch_result.checkpoints:
                break
            await asyncio.sleep(_PAUSE_SECONDS)
        freed += replace(one, threads=int(one.checkpoints > 0))
        if on_progress is not None:
            on_progress(1)
    return freed


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
    """One transaction of a thread; nothing when there is nothing left to remove.

    The newest go first: what remains at any moment has all its ancestors. Whoever is about to save a checkpoint whose
    parent goes waits at the parent's lock; what was saved just before is in the second look."""
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
    """What has to go of a thread, newest first, at most so many; and whether it is all of it, which goes at once."""
    await cursor.execute(tables.CHECKPOINT_ROWS, {"thread": thread})
    points = [CheckpointRow(**row) for row in await cursor.fetchall()]
    if points and max(point.at for point in points) < before:
        return [point.key for point in points], True
    retained = select_retained(points, keep)
    prunable = sorted(
        (point.key for point in points if point.key not in retained), key=lambda one: one[1], reverse=True
    )
    return prunable[:limit], False


async def _execute_counted(cursor: Any, statement: str, parameters: dict[str, Any]) -> tuple[int, int]:
    await cursor.execute(statement, parameters)
    row = await cursor.fetchone()
    return int(row["rows"]), int(row["bytes"])


def _make_parameters(thread: str, places: Sequence[CheckpointKey]) -> dict[str, Any]:
    ids = [id_ for _, id_ in places]
    return {"thread": thread, "ns": [ns for ns, _ in places], "ids": ids, "last": max(ids, default="")}
