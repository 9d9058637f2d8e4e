"""What large bodies leave in the heap goes back to the system."""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable
from functools import cache

LARGE_BYTES = 1 << 20  # of a body, beyond which what it leaves is worth a look at the whole heap
_TRIM_SECONDS = 1.0  # after which the last references to a body are gone; several bodies have one look


class Heap:
    """Gives back what the allocator of the process keeps for later, where it can be asked to."""

    def __init__(self) -> None:
        self._waiting: asyncio.TimerHandle | None = None

    def note_body(self, size: int) -> None:
        """Note that a body of so many bytes is done with."""
        if size >= LARGE_BYTES and self._waiting is None and _find_trim() is not None:
            self._waiting = asyncio.get_running_loop().call_later(_TRIM_SECONDS, self._start_trim)

    def _start_trim(self) -> None:
        self._waiting = None
        if (trim := _find_trim()) is not None:
            asyncio.get_running_loop().run_in_executor(None, trim, 0)  # it takes milliseconds


@cache
def _find_trim() -> Callable[[int], int] | None:
    """The function of glibc; None for another library."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
