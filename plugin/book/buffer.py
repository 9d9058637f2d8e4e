"""Reports of turns that wait to be written: no turn waits for that."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from muniment.memory.errors import MunimentError
from muniment.plugin.domain.book import TurnReport
from muniment.plugin.domain.item import ItemOwner
from muniment.plugin.problems import Problem, ProblemLog

_WAIT_SECONDS = 0.5  # what a process that is killed loses at most
_MOST = 1_000  # reports that wait while the book cannot be written
_log = logging.getLogger(__name__)
WriteTurns = Callable[[Sequence[TurnReport]], Awaitable[None]]


class TurnBuffer:
    """Takes reports at once, and writes them a moment later, several at a time. While the book cannot be written the
    newest thousand stay; how many older ones were dropped is in the log."""

    def __init__(self, write: WriteTurns) -> None:
        self._write = write
        self._waiting: deque[TurnReport] = deque()
        self._dropped = 0
        self._problems = ProblemLog()
        self._later: asyncio.Task[None] | None = None
        self._writing: asyncio.Task[None] | None = None

    def list_problems(self) -> tuple[Problem, ...]:
        """Return why reports wait; nothing where they can be written."""
        return self._problems.list_problems()

    def count_written(self, owner: ItemOwner, since: datetime) -> int:
        """Return how many items the turns have written for the owner's user since then whose reports wait."""
        return sum(
            report.written
            for report in self._waiting
            if report.at >= since and (report.owner.tenant, report.owner.user) == (owner.tenant, owner.user)
        )

    def add(self, report: TurnReport) -> None:
        """Take a report, and have it written soon."""
        self._waiting.append(report)
        self._bound()
        if not _is_running(self._later):
            self._later = asyncio.create_task(self._flush_later())

    async def flush(self) -> None:
        """Write what waits. Where that fails it waits on. Raises StoreError."""
        while self._waiting or _is_running(self._writing):
            if self._writing is None or not _is_running(self._writing):
                self._writing = asyncio.create_task(self._write_waiting())
            await asyncio.shield(self._writing)

    async def close(self) -> None:
        """Write what waits. What cannot be written is lost, which the log says."""
        if self._later is not None and _is_running(self._later):
            self._later.cancel()
        try:
            await self.flush()
        except MunimentError as error:
            _log.warning("%d reports of turns are lost: %s", len(self._waiting), type(error).__name__)

    async def _flush_later(self) -> None:
        await asyncio.sleep(_WAIT_SECONDS)
        try:
            await self.flush()
        except MunimentError as error:  # with the next report it is tried again
            self._problems.note_problem("book", error)

    async def _write_waiting(self) -> None:
        taken = list(self._waiting)
        self._waiting.clear()
        is_written = False
        try:
            await self._write(taken)
            is_written = True
        finally:
            if not is_written:
                self._waiting.extendleft(reversed(taken))
                self._bound()
        self._problems.note_success("book")
        if self._dropped:
            _log.warning("%d reports of turns were dropped while the book could not be written", self._dropped)
            self._dropped = 0

    def _bound(self) -> None:
        while len(self._waiting) > _MOST:
            self._waiting.popleft()
            self._dropped += 1


def _is_running(task: asyncio.Task[None] | None) -> bool:
    """Whether a task is under way in this event loop: one of a loop that has ended never is."""
    return task is not None and not task.done() and task.get_loop() is asyncio.get_running_loop()
