"""A call of a hook: in a task of its own, with a time limit, so that nothing in it reaches the turn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFault:
    """What went wrong in a call: it was late, or it raised `error`."""

    kind: Literal["failed", "late"]
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class HookResult(Generic[_Result]):
    """What a call returned."""

    value: _Result


class HookCalls:
    """Calls hooks, and holds those that were cancelled until they have ended.

    A hook has a task of its own: it may cancel itself or ignore a cancellation, and the turn neither ends nor waits."""

    def __init__(self) -> None:
        self._cancelled: set[asyncio.Task[object]] = set()

    async def call_hook(
        self, hook: Callable[[], Awaitable[_Result]], seconds: float
    ) -> HookResult[_Result] | HookFault:
        """Return what a hook returns, or what went wrong within the time limit. Raises CancelledError only where the
        caller itself is cancelled."""
        task = asyncio.create_task(_await_hook(hook))
        try:
            await asyncio.wait({task}, timeout=seconds)
        except asyncio.CancelledError:
            self._cancel(task)
            raise
        if not task.done():
            self._cancel(task)
            return HookFault(kind="late")
        if task.cancelled():
            return HookFault(kind="failed", error=asyncio.CancelledError())
        if (error := task.exception()) is not None:
            return HookFault(kind="failed", error=error)
        return HookResult(task.result())

    async def aclose(self, seconds: float) -> None:
        """Wait for the calls that were cancelled, at most so long."""
        if self._cancelled:
            await asyncio.wait(set(self._cancelled), timeout=seconds)

    def _cancel(self, task: asyncio.Task[_Result]) -> None:
        task.cancel()
        self._cancelled.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[_Result]) -> None:
        self._cancelled.discard(task)
        if not task.cancelled():
            task.exception()  # an error that nobody asks for would be logged with its text


async def _await_hook(hook: Callable[[], Awaitable[_Result]]) -> _Result:
    return await hook()
