"""Projections: one active row for each slot, kept with each change, and the same when they are made anew."""

from __future__ import annotations

import psycopg

from muniment.memory.client import Memory
from muniment.memory.domain.layers.projections import Projection, ProjectionRequest
from tests.engine import engine, said, scope


async def listed(memory: Memory, *types: str) -> list[Projection]:
    """The projections of the space."""
    return await memory.engine.layer_stores.projections.list_projections(
        memory.engine.settings.make_owner_reader(scope()), ProjectionRequest(types=types, limit=10_000)
    )


def dump(url: str) -> list[str]:
    """Every row of the table, byte for byte."""
    with psycopg.connect(url) as conn:
        found = conn.execute("select p::text from muniment.projections p order by space_id, projection_id").fetchall()
    return [text for (text,) in found]


async def test_a_preference_that_changes_ten_times_is_one_slot(database_url: str) -> None:
    """One active row with the last value, and ten lines of history."""
    async with engine(database_url) as memory:
        for n in range(10):
            await memory.learn(scope(), said(f"I live in {['Porto', 'Oslo', 'Rome', 'Paris', 'Lima'][n % 5]}."))
        [row] = await listed(memory)
        assert (row.type, row.key, row.status) == ("user_profile", "lives_in", "active")
        assert row.data == {"slot": "lives_in", "value": "Lima", "negated": False}
        assert len(await memory.history(scope(), row.memory)) == 10
        before = dump(database_url)
        done = await memory.projections.rebuild(scope())
        assert (done.before, done.after, done.changed) == (1, 1, 0)
        assert dump(database_url) == before
        assert await memory.engine.layer_stores.projections.find_lag(scope()) == 0
