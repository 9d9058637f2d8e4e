"""An event loop that runs while the command waits for input."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")
_STOP_SECONDS = 10.0


class LoopThread:
    """A loop in a thread of its own: its tasks go on between two calls of `run`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="loop")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of the coroutine. Ctrl-C cancels it, waits for its end, and is raised."""
        tasks: list[asyncio.Task[T]] = []
        ended = threading.Event()

        def begin() -> None:
            tasks.append(self._loop.create_task(work))
            tasks[0].add_done_callback(lambda _: ended.set())

        self._loop.call_soon_threadsafe(begin)
        try:
            ended.wait()
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(lambda: tasks[0].cancel())  # noqa: PLW0108 - it may not be there yet
            ended.wait(_STOP_SECONDS)
            raise
        return tasks[0].result()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        leaving = asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop)
        with contextlib.suppress(TimeoutError):  # a thread that does not end is left behind; the process ends anyway
            leaving.result(_STOP_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_STOP_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()


async def _cancel_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
    await asyncio.get_running_loop().shutdown_default_executor()
