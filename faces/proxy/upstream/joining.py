"""Chunks of an answer that have come at once go on at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator

import httpx2

_MOST_BYTES = 1 << 18  # that wait for a client who reads slowly


async def join_chunks(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of these chunks, joined as far as they are there already: sending is what costs most.

    Raises what the chunks raise, after the bytes before it. Close it by `aclosing` before the chunks are closed."""
    parts: list[bytes] = []
    come, taken = asyncio.Event(), asyncio.Event()

    async def gather() -> None:
        size = 0
        async for chunk in chunks:
            size = len(chunk) + (size if parts else 0)
            parts.append(chunk)
            come.set()
            if size >= _MOST_BYTES:
                taken.clear()
                await taken.wait()

    reading = asyncio.create_task(gather())
    reading.add_done_callback(lambda _: come.set())
    try:
        while parts or not reading.done():
            await come.wait()
            come.clear()
            if joined := b"".join(parts):
                parts.clear()
                taken.set()
                yield joined
        reading.result()
    finally:
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError, httpx2.TransportError):
            await reading
