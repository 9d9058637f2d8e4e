"""Who asks is cancelled while a connection is in the midst of it: whoever has that connection next does not notice."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import chain

from tests.engine import engine, scope

MOMENTS = 120  # turns of the event loop: on a quiet machine a read is over after fewer


async def test_cancelled_at_any_moment(database_url: str) -> None:
    """A statement alone is a transaction of its own again, and a read after it begins one."""
    async with engine(database_url) as memory:
        await memory.remember(scope(), "I live in Porto")
        ended = 0
        longer = (MOMENTS * 2**times for times in range(12))  # a busy machine: as long as one read takes to end
        for moment in chain(range(MOMENTS), longer):
            if ended and moment >= MOMENTS:
                break
            reading = asyncio.create_task(memory.list(scope()))
            for _ in range(moment):
                await asyncio.sleep(0)
            ended += reading.done()
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading
            await memory.jobs.count_jobs()
            assert [one.text for one in await memory.list(scope())] == ["The user lives in Porto"]
        assert 0 < ended < MOMENTS  # some were over before they were cancelled, and some were not
