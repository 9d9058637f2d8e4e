"""A bound on how long something may take, which holds where giving up takes its time, too."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_LEFT: set[asyncio.Task[Any]] = set()


async def run_within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Return what the work returns. Raises TimeoutError after so many seconds.

    The work is cancelled then, and not waited for: a connection to a database that has fallen silent asks it to stop,
    and listens for seconds whether it does."""
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        if not task.done():
            task.cancel()
            _LEFT.add(task)
            task.add_done_callback(_forget_task)
    if not task.done():
        raise TimeoutError
    return task.result()


def _forget_task(task: asyncio.Task[Any]) -> None:
    _LEFT.discard(task)
    if not task.cancelled():
        task.exception()  # else the loop says that nobody has looked at it
