"""How often the database is waited for: what goes there together comes back together."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.query import Query
from muniment.memory.stores.postgres.store import PostgresStore
from tests.engine import engine, note, scope

WHO = scope("ana")
TEXT = "Where is the lighthouse?"
CALLS: dict[str, Callable[[Memory], Awaitable[Any]]] = {
    "query": lambda memory: memory.query(WHO, "supervisor", Query(text=TEXT)),
    "brief": lambda memory: memory.brief(WHO, "supervisor", TEXT),
    "seen": lambda memory: memory.conversation.mark_seen(WHO, Revision(1)),
    "near": lambda memory: memory.engine.store.reads.find_neighbours(WHO, (), 0),
}


async def waits(memory: Memory, call: Callable[[Memory], Awaitable[Any]], file: Path) -> int:
    """How many times a call sends and waits for what comes back, as the driver's own trace has it."""
    pool = cast("PostgresStore", memory.engine.store)._connections._pool
    assert pool is not None
    with file.open("wb") as trace:
        async with pool.connection() as conn:
            conn.pgconn.trace(trace.fileno())
        assert pool.get_stats()["pool_size"] == 1  # what is traced is what is used
        await call(memory)
        async with pool.connection() as conn:
            conn.pgconn.untrace()
        os.fsync(trace.fileno())
    sides = [line.split("\t")[1] for line in file.read_text().splitlines()]
    return sum(side == "F" != before for before, side in zip(["B", *sides], sides, strict=False))


@pytest.mark.parametrize("name", CALLS)
async def test_each_call_is_one_round_trip(database_url: str, tmp_path: Path, name: str) -> None:
    async with engine(database_url) as memory:
        await memory.ingest(WHO, [note("The lighthouse is in Porto."), note("The user has a red bicycle.")])
        for _ in range(7):  # the driver prepares what it has seen five times
            await CALLS[name](memory)
        assert await waits(memory, CALLS[name], tmp_path / "trace") == 1
