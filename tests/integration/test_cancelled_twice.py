"""A call that is cancelled while its cancellation is under way breaks its own connection, and takes nothing from
anybody else."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import anyio
import psycopg
import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.query import Query
from tests.engine import engine, note, scope

CALLS = 120
BYSTANDERS = 4
MOMENTS = 60  # turns of the event loop: a call is over after some more
IDLE = "select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'"


async def cancelled_twice(call: Awaitable[object], moment: int) -> None:
    """The second cancellation comes one turn of the event loop after the first."""
    task = asyncio.ensure_future(call)
    await turns(moment)
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0)
    with suppress(asyncio.CancelledError):
        await task


async def cancelled_by_scope(call: Awaitable[object], moment: int) -> None:
    """The scope cancels at every turn of the event loop until the call has ended."""
    with anyio.CancelScope() as within:
        stopping = asyncio.create_task(stop(within, moment))
        await call
    await stopping


async def stop(within: anyio.CancelScope, moment: int) -> None:
    await turns(moment)
    within.cancel()


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def bystand(memory: Memory, name: str, over: asyncio.Event) -> int:
    """Write and read until it is over; how many calls were answered."""
    answered = 0
    who = scope(name)
    while not over.is_set():
        await memory.ingest(who, [note(f"The green door {answered} is locked")])
        answer = await memory.query(who, "supervisor", Query(text="Which door is locked?"))
        assert answer.hits
        answered += 2
    return answered


@pytest.mark.parametrize("cancelled", [cancelled_twice, cancelled_by_scope])
async def test_nobody_else_notices(
    database_url: str, cancelled: Callable[[Awaitable[object], int], Awaitable[None]]
) -> None:
    """Reads and writes are cancelled at any moment: all others are answered, and the pool has all its connections
    again."""
    chance = random.Random(7)
    ana = scope("ana")
    async with engine(database_url) as memory:
        await memory.ingest(ana, [note("The green door is locked")])
        over = asyncio.Event()
        bystanders = [asyncio.create_task(bystand(memory, f"ben{n}", over)) for n in range(BYSTANDERS)]
        for n in range(CALLS):
            calls: tuple[Callable[[], Awaitable[object]], ...] = (
                lambda: memory.list(ana),
                lambda: memory.query(ana, "supervisor", Query(text="Which door is locked?")),
                partial(memory.ingest, ana, [note(f"The red door {n} is open")]),
            )
            await cancelled(chance.choice(calls)(), chance.randrange(MOMENTS))
        over.set()
        ended = await asyncio.gather(*bystanders, return_exceptions=True)
        assert [one for one in ended if isinstance(one, BaseException)] == []
        assert all(ended)
        await memory.jobs.count_jobs()
        assert all(await asyncio.gather(*(memory.list(ana) for _ in range(20))))
        async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as conn:
            async with asyncio.timeout(5):
                while (await (await conn.execute(IDLE)).fetchone()) != (0,):
                    await asyncio.sleep(0.02)
