"""The bytes of an answer on their way to the client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

_MOST_BYTES = 262_144  # that wait for a client which reads slowly


async def pass_chunks(chunks: AsyncIterator[bytes], send: Callable[[bytes], Awaitable[None]]) -> None:
    """Send chunks as they come. Those that have come together are sent together, so that many small ones cost as
    little as a few large ones; none waits for another. Raises what reading or sending raises."""
    waiting: list[bytes] = []
    size, ready, room = 0, asyncio.Event(), asyncio.Event()

    async def read() -> None:
        nonlocal size
        try:
            async for chunk in chunks:
                waiting.append(chunk)
                size += len(chunk)
                ready.set()
                if size >= _MOST_BYTES:
                    room.clear()
                    await room.wait()
        finally:
            ready.set()

    reading = asyncio.create_task(read())
    try:
        while not reading.done() or waiting:
            await ready.wait()
            ready.clear()
            if waiting:
                taken = b"".join(waiting)
                waiting.clear()
                size = 0
                room.set()
                await send(taken)
            elif not reading.done():
                await asyncio.sleep(0)  # it ends, and has set `ready` for the last time
                ready.set()
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    reading.result()
