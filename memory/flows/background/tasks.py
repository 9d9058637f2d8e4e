"""What goes on behind a reply, and for which a memory waits before it closes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class BackgroundTasks:
    """The tasks of one process. They handle their errors themselves."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin some work on this loop."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish_all(self, seconds: float | None = None) -> None:
        """Wait until what has begun is done. What lasts longer than `seconds` is cancelled."""
        async with asyncio.timeout(seconds):
            await asyncio.gather(*self._tasks)
