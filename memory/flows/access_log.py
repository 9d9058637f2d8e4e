"""Which memories were retrieved: counted beside the reply, and written later."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from muniment.memory.domain.ids import MemoryId, SpaceId
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import StoreError
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.writes import MemoryWrites

_MIN_INTERVAL = timedelta(minutes=10)  # a memory that was counted so lately waits
# So much is counted of one space, or of all, or for so long, before it is written without being asked: a write of many costs
# as much as one of few, and forgetting, which counts in weeks, need not know of the last hour.
_FULL, _MOST, _MAX_DELAY = 1_000, 20_000, timedelta(hours=1)


class AccessLog:
    """A buffer of what was retrieved. What is in it is lost when the process dies."""

    def __init__(self, writes: MemoryWrites, clock: Clock) -> None:
        self._writes, self._clock = writes, clock
        self._counts: dict[Scope, Counter[MemoryId]] = {}
        self._accessed_at: dict[Scope, datetime] = {}
        self._written: dict[tuple[SpaceId, MemoryId], datetime] = {}
        self._unflushed: Counter[Scope] = Counter()  # since a write was last tried
        self._total, self._started_at = 0, clock.now()
        self._flush_task: asyncio.Task[None] | None = None

    def record_access(self, scope: Scope, ids: Iterable[MemoryId]) -> None:
        """Count that these memories of the owner's scope were retrieved now. Waits for nothing."""
        counted = Counter(ids)
        if not counted:
            return
        self._counts.setdefault(scope, Counter()).update(counted)
        now = self._accessed_at[scope] = self._clock.now()
        self._unflushed[scope] += len(counted)
        self._total += len(counted)
        if self._flush_task is not None and not self._flush_task.done():
            return
        if self._total >= _MOST or not timedelta() <= now - self._started_at < _MAX_DELAY:
            # All at once, that what cannot be written now is not tried again with every answer.
            self._unflushed.clear()
            self._total, self._started_at = 0, now
            self._flush_task = asyncio.create_task(self._flush_scopes(list(self._counts)))
        elif self._unflushed[scope] >= _FULL:
            self._flush_task = asyncio.create_task(self._flush_scopes([scope]))

    async def flush(self, scope: Scope, *, force: bool = False) -> None:
        """Write the scope's counts, but for those of memories that were written lately, unless `at_last`. They stay
        buffered when the database is down, and those that a writer holds do."""
        self._total -= self._unflushed.pop(scope, 0)
        seen, at = self._counts.pop(scope, Counter()), self._accessed_at.get(scope, self._clock.now())
        now = self._clock.now()
        late = {} if force else {id_: n for id_, n in seen.items() if self._is_recent(scope, id_, now)}
        todo = {id_: n for id_, n in seen.items() if id_ not in late}
        left: Counter[MemoryId] = Counter(late)
        try:
            if todo:
                held = await self._writes.record_access(scope, todo, at)
                left.update({id_: todo[id_] for id_ in held})
                for id_ in todo.keys() - held:
                    self._written.pop((scope.space, id_), None)  # the latest stay the last
                    self._written[scope.space, id_] = now
        except BaseException:
            left.update(todo)
            raise
        finally:
            self._restore_counts(scope, left)
            self._prune_written(now)

    async def close(self) -> None:
        """Write what there is. Raises StoreError."""
        if self._flush_task is not None:
            await asyncio.gather(self._flush_task, return_exceptions=True)
        for scope in list(self._counts):
            await self.flush(scope, force=True)

    def _is_recent(self, scope: Scope, id_: MemoryId, now: datetime) -> bool:
        written = self._written.get((scope.space, id_))
        return written is not None and abs(now - written) < _MIN_INTERVAL

    def _prune_written(self, now: datetime) -> None:
        """Let go of what was written long ago, or by a clock that has been set back since: no more is looked at."""
        while self._written:
            first, written = next(iter(self._written.items()))
            if abs(now - written) < _MIN_INTERVAL:
                break
            del self._written[first]

    def _restore_counts(self, scope: Scope, left: Counter[MemoryId]) -> None:
        if left:
            self._counts.setdefault(scope, Counter()).update(left)
        elif scope not in self._counts:
            self._accessed_at.pop(scope, None)

    async def _flush_scopes(self, scopes: Sequence[Scope]) -> None:
        with suppress(StoreError):  # the next flush says so, where somebody hears it
            for scope in scopes:
                await self.flush(scope, force=True)
