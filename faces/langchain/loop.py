"""The loop on which a memory works: callers on other loops, and in threads without one, wait for it there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from muniment.memory.bootstrap import open_memory
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.errors import BadInput

_Result = TypeVar("_Result")
_lock = threading.Lock()


class MemoryLoop:
    """The loop of one memory: that of its first caller, or one in the background where this caller has none."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self, call: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
        """Await `call()` on the loop of the memory."""
        here = asyncio.get_running_loop()
        loop = self._choose_loop(here)
        if loop is here:
            return await call()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call(), loop))

    def run_sync(self, call: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
        """Wait for `call()` in a thread. Raises BadInput in the thread of the loop, which would wait for itself."""
        loop = self._choose_loop(None)
        if loop is find_running_loop():
            raise BadInput(
                "this thread runs the loop of the memory, which would wait for itself: await the asynchronous method, "
                "such as ainvoke, or call this one by asyncio.to_thread"
            )
        return asyncio.run_coroutine_threadsafe(call(), loop).result()

    def settle(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Let this be the loop of the memory, unless it has one."""
        if loop is not None:
            self._choose_loop(loop)

    def _choose_loop(self, here: asyncio.AbstractEventLoop | None) -> asyncio.AbstractEventLoop:
        with _lock:
            if self._loop is None or self._loop.is_closed():
                self._loop = here or start_background_loop()
            return self._loop


_loops: WeakKeyDictionary[Memory, MemoryLoop] = WeakKeyDictionary()


def get_memory_loop(memory: Memory) -> MemoryLoop:
    """The loop of a memory: the one on which it was opened, or else the one that runs here, if any."""
    with _lock:
        found = _loops.setdefault(memory, MemoryLoop())
    found.settle(memory.loop or find_running_loop())
    return found


def find_running_loop() -> asyncio.AbstractEventLoop | None:
    """The loop that runs in this thread, if any."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@contextmanager
def open_background_memory(
    settings: Settings | None = None, *, agents: Mapping[str, Sequence[str]] | None = None
) -> Iterator[Memory]:
    """Open a memory as `open_memory` does, for a program without asyncio: agents, tools and stores over it are called
    by their synchronous methods, such as `agent.invoke`. Raises BadConfig, StoreDown, WrongEmbedder."""
    loop, opening = start_background_loop(), open_memory(settings, agents=agents)
    memory = asyncio.run_coroutine_threadsafe(opening.__aenter__(), loop).result()
    try:
        yield memory
    finally:
        asyncio.run_coroutine_threadsafe(opening.__aexit__(None, None, None), loop).result()


@cache
def start_background_loop() -> asyncio.AbstractEventLoop:
    """A loop in a thread of its own that ends with the process; all synchronous callers share it."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="muniment").start()
    return loop
