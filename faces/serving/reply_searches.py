"""The searches for what made a reply that go on in this process, beside the requests that have begun them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress

from muniment.memory.client import Memory
from muniment.memory.errors import MunimentError

_AT_ONCE = 4  # each asks a model again and again
_KEPT_FAILURES = 100


class ReplySearches:
    """Searches by what they are about. One that was cut short is begun again by who asks for it: the replies that it
    has made are kept."""

    def __init__(self) -> None:
        self._running = dict[Hashable, asyncio.Event]()
        self._failures = dict[Hashable, MunimentError]()

    def is_running(self, key: Hashable) -> bool:
        """Whether a search goes on in this process."""
        return key in self._running

    def find_failure(self, key: Hashable) -> MunimentError | None:
        """Return why a search has stopped; None where it has not."""
        return self._failures.get(key)

    def start(self, key: Hashable, memory: Memory, search: Callable[[], Awaitable[object]]) -> bool:
        """Begin a search behind the answer; whether it goes on by now, which it does not where too many others do."""
        if key in self._running:
            return True
        if len(self._running) >= _AT_ONCE:
            return False
        self._running[key] = asyncio.Event()
        self._failures.pop(key, None)
        memory.engine.background_tasks.start(self._run(key, search))
        return True

    async def wait_for_end(self, key: Hashable, seconds: float) -> None:
        """Return when a search has ended, or after so many seconds."""
        if (ended := self._running.get(key)) is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await ended.wait()

    async def _run(self, key: Hashable, search: Callable[[], Awaitable[object]]) -> None:
        try:
            await search()
        except MunimentError as error:
            self._failures[key] = error
            for old in [*self._failures][:-_KEPT_FAILURES]:
                del self._failures[old]
        finally:
            self._running.pop(key).set()
