"""The loop of the chat goes on by itself, and lets go at Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time

import pytest

from muniment.faces.cli.loop import LoopThread


def test_what_was_begun_goes_on_between_two_calls() -> None:
    """A task advances while nobody waits for the loop, and is cancelled at the end."""
    steps: list[int] = []
    ended: list[str] = []

    async def tick() -> None:
        try:
            while True:
                steps.append(1)
                await asyncio.sleep(0.01)
        finally:
            ended.append("yes")

    async def begin() -> asyncio.Task[None]:
        return asyncio.create_task(tick())

    with LoopThread() as loop:
        task = loop.run(begin())
        time.sleep(0.2)
        assert len(steps) > 3
        assert not ended
    assert ended
    assert task.cancelled()


def test_results_and_errors_come_back() -> None:
    """As if the work had been awaited here."""

    async def half(number: int) -> int:
        if number % 2:
            raise ValueError(number)
        return number // 2

    with LoopThread() as loop:
        assert loop.run(half(6)) == 3
        with pytest.raises(ValueError, match="7"):
            loop.run(half(7))


def test_the_keyboard_interrupts() -> None:
    """Ctrl-C cancels the work, waits until it has cleaned up, and is raised; the loop can be used again."""
    cleaned: list[bool] = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.1)
            cleaned.append(True)

    async def nothing() -> str:
        return "still here"

    with LoopThread() as loop:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            loop.run(work())
        assert cleaned == [True]
        assert loop.run(nothing()) == "still here"
