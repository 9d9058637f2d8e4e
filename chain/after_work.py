"""What is done behind replies: in order within a session, sessions beside each other, and no more than a bound."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable
from itertools import count
from typing import Generic, TypeVar

_Work = TypeVar("_Work")


class AfterWork(Generic[_Work]):
    """Work that nobody waits for. `perform` does a piece of it and does not raise; over `max_pending` pieces, begun or
    not, the oldest that has not begun is dropped, and `on_dropped` is called with it."""

    def __init__(
        self, perform: Callable[[_Work], Awaitable[None]], max_pending: int, on_dropped: Callable[[_Work], None]
    ) -> None:
        self._perform, self._max_pending, self._on_dropped = perform, max_pending, on_dropped
        self._numbers = count()
        self._waiting: OrderedDict[int, tuple[Hashable, _Work]] = OrderedDict()
        self._sessions: dict[Hashable, deque[int]] = {}
        self._tasks: dict[Hashable, asyncio.Task[None]] = {}
        self._begun = 0

    @property
    def pending(self) -> int:
        """How many pieces have begun or wait."""
        return len(self._waiting) + self._begun

    def start(self, session: Hashable, work: _Work) -> None:
        """Begin a piece of work as soon as what the session has given before is done."""
        number = next(self._numbers)
        self._waiting[number] = (session, work)
        self._sessions.setdefault(session, deque()).append(number)
        if session not in self._tasks:
            self._tasks[session] = asyncio.create_task(self._work_off(session))
        while self.pending > self._max_pending and self._waiting:
            self._drop_oldest()

    async def drain(self, seconds: float) -> int:
        """Wait until all is done, at most so long, and return how many pieces are left."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while self._tasks and (left := end - loop.time()) > 0:
            await asyncio.wait(set(self._tasks.values()), timeout=left)
        return self.pending

    def stop(self) -> None:
        """Drop what waits, and cancel what has begun."""
        while self._waiting:
            self._drop_oldest()
        for task in self._tasks.values():
            task.cancel()

    def _drop_oldest(self) -> None:
        """Numbers rise, so the oldest of all is the oldest of its session, too."""
        _, (session, work) = self._waiting.popitem(last=False)
        self._sessions[session].popleft()
        self._on_dropped(work)

    async def _work_off(self, session: Hashable) -> None:
        numbers = self._sessions[session]
        try:
            while numbers:
                _, work = self._waiting.pop(numbers.popleft())
                self._begun += 1
                try:
                    await self._perform(work)
                finally:
                    self._begun -= 1
        finally:
            del self._sessions[session], self._tasks[session]
