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
from muniment.graph.keeping import Place, Point, kept
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import SpaceId
from muniment.memory.errors import Busy, NoCheckpoint, StoreError

_log = logging.getLogger(__name__)
_LOCK = 0x6A616E69746F72  # the advisory lock of the one janitor of a database: "janitor"
_THREADS = 200  # asked for at once
_BATCH = 500  # checkpoints of a thread that go in one transaction
_FAREWELL_SECONDS = 0.5
_GENTLE_SECONDS = 0.01  # between two transactions: whoever talks comes first

Told = Callable[[int], None]


class Tables(Protocol):
    """Whoever has the saver's tables, such as `PooledSaver`."""

    def cursor(self) -> AbstractAsyncContextManager[Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Freed:
    """What a round of the janitor removed: rows of the saver's tables and their bytes, of so many threads, some whole."""

    threads: int = 0
    whole: int = 0
    checkpoints: int = 0
    writes: int = 0
    blobs: int = 0
    bytes: int = 0

    def __add__(self, other: Freed) -> Freed:
        return Freed(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What a thread takes: checkpoints, bytes on the disk, and when the first and the last one were made, ISO."""

    thread: str
    checkpoints: int
    bytes: int
    oldest: str
    newest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The largest threads, and how many threads and bytes there are in all."""

    largest: tuple[Size, ...] = ()
    threads: int = 0
    bytes: int = 0


async def prune(
    saver: Tables,
    *,
    keep: int,
    days: float | None = None,
    threads: Sequence[str] | None = None,
    dry: bool = False,
    told: Told | None = None,
) -> Freed:
    """Leave of each thread the newest `keep` checkpoints of a namespace with all that they need, and of a thread that
    nobody has touched for so many days nothing. `told` hears of each thread; `dry` only counts.

    May be interrupted anywhere, and done beside any run. Raises NoCheckpoint for a named thread that has none, Busy while
    another process does it, StoreDown."""
    for thread in threads or ():
        await _must_be(saver, thread)
    async with _alone(saver) as alone:
        if not alone:
            raise Busy.told("another process is pruning checkpoints", "wait until it is done", **await _holder(saver))
        return await _round(saver, keep, days, threads, dry=dry, told=told)


async def delete_threads(saver: Tables, threads: Iterable[str]) -> dict[str, int]:
    """Remove threads for good; the rows by table. A run that is under way may still save what it holds. Raises StoreDown."""
    async with saver.cursor() as cursor:
        await cursor.execute(tables.DELETE_THREADS, {"threads": list(threads)})
        row = await cursor.fetchone()
    return {name: int(count) for name, count in (row or {}).items()}


async def threads_of(saver: Tables, space: SpaceId) -> list[str]:
    """The threads of our graphs that belong to a space."""
    async with saver.cursor() as cursor:
        await cursor.execute(tables.THREADS_OF, {"space": str(space)})
        return [str(row["thread_id"]) for row in await cursor.fetchall()]


async def all_threads(saver: Tables) -> list[str]:
    """The threads that there are, of whatever graph."""
    async with saver.cursor() as cursor:
        await cursor.execute(tables.ALL_THREADS)
        return [str(row["thread_id"]) for row in await cursor.fetchall()]


async def sizes(saver: Tables, limit: int, space: SpaceId | None = None) -> Sizes:
    """The largest threads of a space, or of all."""
    async with saver.cursor() as cursor:
        wanted = {"space": str(space), "limit": limit}
        await cursor.execute(tables.SIZES_OF if space else tables.SIZES, wanted)
        found = await cursor.fetchall()
    if not found:
        return Sizes()
    return Sizes(
        largest=tuple(
            Size(thread=row["thread"], checkpoints=row["checkpoints"], bytes=row["bytes"], oldest=row["oldest"] or "",
                 newest=row["newest"] or "")
            for row in found
        ),
        threads=found[0]["threads"],
        bytes=found[0]["total"],
    )  # fmt: skip


@asynccontextmanager
async def tidying(saver: Tables, settings: Settings) -> AsyncIterator[None]:
    """Beside what happens inside, one process of all prunes once in `session_ledger.cleanup_interval_seconds`."""
    task = asyncio.create_task(_keep_tidy(saver, settings))
    try:
        yield
    finally:
        while not task.done():  # before Python 3.12 a cancellation that comes together with a connection is forgotten
            task.cancel()
            await asyncio.wait([task], timeout=_FAREWELL_SECONDS)
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error


async def _must_be(saver: Tables, thread: str) -> None:
    async with saver.cursor() as cursor:
        await cursor.execute(tables.HAS_THREAD, (thread,))
        row = await cursor.fetchone()
    if not row["yes"]:
        raise NoCheckpoint(f"There is no thread {thread!r}.", thread=thread)


async def _keep_tidy(saver: Tables, settings: Settings) -> None:
    every = settings.session_ledger.cleanup_interval_seconds
    if not settings.session_ledger.run_on_startup:
        await asyncio.sleep(every)
    while True:
        try:
            freed = await tidy(saver, settings)
            if freed is not None:
                _log.info(
                    "checkpoints pruned: %d of %d threads, %d bytes", freed.checkpoints, freed.threads, freed.bytes
                )
        except StoreError as error:  # the next time will do
            _log.warning("checkpoints not pruned: %s", type(error).__name__)
        await asyncio.sleep(every)


async def tidy(saver: Tables, settings: Settings) -> Freed | None:
    """Prune by the settings; None when another process does, or did so within the interval. Raises StoreDown."""
    async with _alone(saver) as alone:
        if not alone:
            return None
        async with saver.cursor() as cursor:
            await cursor.execute(tables.DUE, (settings.session_ledger.cleanup_interval_seconds,))
            if await cursor.fetchone() is None:
                return None
        rules = settings.checkpoints
        return await _round(saver, rules.keep, rules.ttl_days)


async def _holder(saver: Tables) -> dict[str, Any]:
    async with saver.cursor() as cursor:
        await cursor.execute(tables.HOLDER, (_LOCK,))
        return await cursor.fetchone() or {}


@asynccontextmanager
async def _alone(saver: Tables) -> AsyncIterator[bool]:
    """Whether nobody else prunes. The lock ends with its transaction, and so with this process, however it ends."""
    async with saver.cursor() as cursor, cursor.connection.transaction():
        await cursor.execute(tables.ALONE, (_LOCK,))
        row = await cursor.fetchone()
        yield bool(row and row["yes"])


async def _round(
    saver: Tables, keep: int, days: float | None, threads: Sequence[str] | None = None, *, dry: bool = False,
    told: Told | None = None,
) -> Freed:  # fmt: skip
    # As the saver writes times, so that texts compare as times do.
    before = (datetime.now(UTC) - timedelta(days=days)).isoformat() if days is not None else ""
    freed = Freed()
    async for thread in _crowded(saver, keep, before, threads):
        one = Freed()
        while True:
            step = await _step(saver, thread, keep, before, dry=dry)
            one += step
            if dry or not step.checkpoints:
                break
            await asyncio.sleep(_GENTLE_SECONDS)
        freed += replace(one, threads=int(one.checkpoints > 0))
        if told is not None:
            told(1)
    return freed


async def _crowded(saver: Tables, keep: int, before: str, threads: Sequence[str] | None) -> AsyncIterator[str]:
    """The threads that may have something to remove."""
    if threads is not None:
        for thread in threads:
            yield thread
        return
    last = ""
    while True:
        asked = {"after": last, "keep": keep, "before": before, "limit": _THREADS}
        async with saver.cursor() as cursor:
            await cursor.execute(tables.CROWDED, asked)
            page = [str(row["thread_id"]) for row in await cursor.fetchall()]
        for thread in page:
            yield thread
        if len(page) < _THREADS:
            return
        last = page[-1]


async def _step(saver: Tables, thread: str, keep: int, before: str, *, dry: bool) -> Freed:
    """One transaction of a thread; nothing when there is nothing left to remove.

    The newest go first: what remains at any moment has all its ancestors. Whoever is about to save a checkpoint whose
    parent goes waits at the parent's lock; what was saved just before is in the second look."""
    limit = None if dry else _BATCH
    async with saver.cursor() as cursor, cursor.connection.transaction(force_rollback=dry):
        places, whole = await _doomed(cursor, thread, keep, before, limit)
        if not places:
            return Freed()
        await cursor.execute(tables.LOCK, _named(thread, places))
        still, whole = await _doomed(cursor, thread, keep, before, None)
        named = _named(thread, [place for place in places if place in set(still)])
        checkpoints, size = await _counted(cursor, tables.REMOVE_CHECKPOINTS, named)
        await cursor.execute(tables.FORGET_PARENTS, named)
        writes, of_writes = await _counted(cursor, tables.REMOVE_WRITES, named)
        blobs, of_blobs = await _counted(cursor, tables.REMOVE_BLOBS, named)
    return Freed(
        whole=int(whole), checkpoints=checkpoints, writes=writes, blobs=blobs, bytes=size + of_writes + of_blobs
    )


async def _doomed(cursor: Any, thread: str, keep: int, before: str, limit: int | None) -> tuple[list[Place], bool]:
    """What has to go of a thread, newest first, at most so many; and whether it is all of it, which goes at once."""
    await cursor.execute(tables.POINTS, {"thread": thread})
    points = [Point(**row) for row in await cursor.fetchall()]
    if points and max(point.at for point in points) < before:
        return [point.place for point in points], True
    staying = kept(points, keep)
    going = sorted(
        (point.place for point in points if point.place not in staying), key=lambda one: one[1], reverse=True
    )
    return going[:limit], False


async def _counted(cursor: Any, statement: str, named: dict[str, Any]) -> tuple[int, int]:
    await cursor.execute(statement, named)
    row = await cursor.fetchone()
    return int(row["rows"]), int(row["bytes"])


def _named(thread: str, places: Sequence[Place]) -> dict[str, Any]:
    ids = [id_ for _, id_ in places]
    return {"thread": thread, "ns": [ns for ns, _ in places], "ids": ids, "last": max(ids, default="")}
