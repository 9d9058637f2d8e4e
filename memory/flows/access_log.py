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
from muniment.memory.ports.store import Store

_QUIET = timedelta(minutes=10)  # a memory that was counted so lately waits
# So much is counted of one space, or of all, or for so long, before it is written without being asked: a write of many costs
# as much as one of few, and forgetting, which counts in weeks, need not know of the last hour.
_FULL, _MOST, _LATE = 1_000, 20_000, timedelta(hours=1)


class Touches:
    """A buffer of what was retrieved. What is in it is lost when the process dies."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._seen: dict[Scope, Counter[MemoryId]] = {}
        self._at: dict[Scope, datetime] = {}
        self._written: dict[tuple[SpaceId, MemoryId], datetime] = {}
        self._noted: Counter[Scope] = Counter()  # since a write was last tried
        self._in_all, self._since = 0, clock.now()
        self._emptying: asyncio.Task[None] | None = None

    def note(self, scope: Scope, ids: Iterable[MemoryId]) -> None:
        """Count that these memories of the owner's scope were retrieved now. Waits for nothing."""
        counted = Counter(ids)
        if not counted:
            return
        self._seen.setdefault(scope, Counter()).update(counted)
        now = self._at[scope] = self._clock.now()
        self._noted[scope] += len(counted)
        self._in_all += len(counted)
        if self._emptying is not None and not self._emptying.done():
            return
        if self._in_all >= _MOST or not timedelta() <= now - self._since < _LATE:
            # All at once, that what cannot be written now is not tried again with every answer.
            self._noted.clear()
            self._in_all, self._since = 0, now
            self._emptying = asyncio.create_task(self._empty(list(self._seen)))
        elif self._noted[scope] >= _FULL:
            self._emptying = asyncio.create_task(self._empty([scope]))

    async def flush(self, scope: Scope, *, at_last: bool = False) -> None:
        """Write the scope's counts, but for those of memories that were written lately, unless `at_last`. They stay
        buffered when the database is down, and those that a writer holds do."""
        self._in_all -= self._noted.pop(scope, 0)
        seen, at = self._seen.pop(scope, Counter()), self._at.get(scope, self._clock.now())
        now = self._clock.now()
        late = {} if at_last else {id_: n for id_, n in seen.items() if self._lately(scope, id_, now)}
        todo = {id_: n for id_, n in seen.items() if id_ not in late}
        left: Counter[MemoryId] = Counter(late)
        try:
            if todo:
                held = await self._store.touch(scope, todo, at)
                left.update({id_: todo[id_] for id_ in held})
                for id_ in todo.keys() - held:
                    self._written.pop((scope.space, id_), None)  # the latest stay the last
                    self._written[scope.space, id_] = now
        except BaseException:
            left.update(todo)
            raise
        finally:
            self._keep(scope, left)
            self._prune(now)

    async def close(self) -> None:
        """Write what there is. Raises StoreError."""
        if self._emptying is not None:
            await asyncio.gather(self._emptying, return_exceptions=True)
        for scope in list(self._seen):
            await self.flush(scope, at_last=True)

    def _lately(self, scope: Scope, id_: MemoryId, now: datetime) -> bool:
        written = self._written.get((scope.space, id_))
        return written is not None and abs(now - written) < _QUIET

    def _prune(self, now: datetime) -> None:
        """Let go of what was written long ago, or by a clock that has been set back since: no more is looked at."""
        while self._written:
            first, written = next(iter(self._written.items()))
            if abs(now - written) < _QUIET:
                break
            del self._written[first]

    def _keep(self, scope: Scope, left: Counter[MemoryId]) -> None:
        if left:
            self._seen.setdefault(scope, Counter()).update(left)
        elif scope not in self._seen:
            self._at.pop(scope, None)

    async def _empty(self, scopes: Sequence[Scope]) -> None:
        with suppress(StoreError):  # the next flush says so, where somebody hears it
            for scope in scopes:
                await self.flush(scope, at_last=True)
