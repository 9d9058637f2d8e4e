"""The way to the host of a chain from any thread and any event loop: a host works on the one on which it was opened."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from muniment.chain.host import Host
from muniment.chain.sync import SyncHost
from muniment.faces.langchain.loop import MemoryLoop, find_running_loop


class HostDoor:
    """Calls a host on its loop: that of `loop`, or the one on which the door is made, or else that of the first caller.
    A `SyncHost` has a thread of its own."""

    def __init__(self, host: Host | SyncHost, loop: MemoryLoop | None = None) -> None:
        self._host, self._loop = host, loop or MemoryLoop()
        if loop is None:
            self._loop.settle(find_running_loop())

    async def call_host(self, step: Callable[[Any], Any]) -> Any:
        """Return what `step(host)` gives, awaited where it is a coroutine."""
        if isinstance(self._host, SyncHost):
            return await asyncio.to_thread(step, self._host)
        return await self._loop.run(lambda: _take_step(step, self._host))

    def call_host_sync(self, step: Callable[[Any], Any]) -> Any:
        """Return what `step(host)` gives; the same for synchronous callers. Raises BadInput in the thread of the
        loop, which would wait for itself."""
        if isinstance(self._host, SyncHost):
            return step(self._host)
        return self._loop.run_sync(lambda: _take_step(step, self._host))


async def _take_step(step: Callable[[Any], Any], host: Host | SyncHost) -> Any:
    result = step(host)
    return await result if inspect.isawaitable(result) else result
