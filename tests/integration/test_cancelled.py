"""Who asks is cancelled while a connection is in the midst of it: whoever has that connection next does not notice."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from tests.engine import engine, scope

MOMENTS = 120  # turns of the event loop: a read is over after fewer


async def test_cancelled_at_any_moment(database_url: str) -> None:
    """A statement alone is a transaction of its own again, and a read after it begins one."""
    async with engine(database_url) as memory:
        await memory.remember(scope(), "I live in Porto")
        ended = 0
        for moment in range(MOMENTS):
            reading = asyncio.create_task(memory.list(scope()))
            for _ in range(moment):
                await asyncio.sleep(0)
            ended += reading.done()
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading
            await memory.jobs.count_jobs()
            assert [one.text for one in await memory.list(scope())] == ["The user lives in Porto"]
        assert 0 < ended < MOMENTS
