"""The consolidation of many spaces: what is the matter in one is no matter of the next, and what has not changed is
left."""

from __future__ import annotations

from typing import Any

import psycopg

from muniment.memory.client import Memory
from muniment.memory.domain.consolidation import SpaceResult
from muniment.testing.fakes import FixedClock
from muniment.testing.openai_server import ScriptedOpenAI, structured
from tests.engine import NOON, engine, note, said, scope, settings
from tests.twins import TWINS, active

FIGS = ("The user grows figs in a big pot", "In a pot the user has lots of figs, a big one")
THREE = [scope(owner, thread="") for owner in ("ana", "ben", "cat")]


async def sweep(memory: Memory, **more: Any) -> list[SpaceResult]:
    return [one async for one in memory.admin.consolidate_each(await memory.admin.list_spaces(), **more)]


def came_to(visits: list[SpaceResult]) -> list[tuple[str, Any]]:
    return sorted((one.scope.owner, one.run.same if one.run else one.skipped) for one in visits)


async def test_a_space_that_has_not_changed_since_is_not_touched(database_url: str) -> None:
    """Neither what a consolidation changed itself nor a retrieval is a change; a write, an undo and a day's rest
    are."""
    clock = FixedClock(NOON)
    tuned = settings(database_url)
    night = tuned.consolidation.model_copy(update={"per_day": 1})
    async with engine(database_url, clock=clock, tuned=tuned.model_copy(update={"consolidation": night})) as memory:
        for who in THREE:
            await memory.ingest(who, [note(one) for one in TWINS])
        await memory.ingest(THREE[2], [note("The user keeps bees"), note("The user keeps bees.")])
        assert came_to(await sweep(memory)) == [("ana", 1), ("ben", 1), ("cat", 1)]
        await memory.engine.store.writes.record_access(
            THREE[0], {(await active(memory, THREE[0]))[0].id: 1}, clock.now()
        )
        assert came_to(await sweep(memory)) == [("ana", "unchanged"), ("ben", "unchanged"), ("cat", 0)]
        clock.advance(86_400)
        assert came_to(await sweep(memory)) == [("ana", "unchanged"), ("ben", "unchanged"), ("cat", 1)]
        runs = [len(await memory.admin.list_runs(who)) for who in THREE]
        assert runs == [1, 1, 3]
        await memory.learn(THREE[0], said("I live in Porto."))
        await memory.admin.undo_consolidation(THREE[1], (await memory.admin.list_runs(THREE[1]))[0].id)
        assert came_to(await sweep(memory)) == [("ana", 0), ("ben", 0), ("cat", "unchanged")]
        assert came_to(await sweep(memory, unchanged=True)) == [("ana", 0), ("ben", 0), ("cat", 0)]


async def test_a_run_that_is_lost_half_way_ends_no_sweep(database_url: str) -> None:
    """Where another run takes the place of one that is asking its model, the others are consolidated all the same; a
    dry sweep writes nothing."""

    def reply(_: dict[str, Any]) -> str:
        with psycopg.connect(database_url) as admin:
            admin.execute(
                """update muniment.consolidation_runs r set status = 'interrupted', ended_at = now()
                  from muniment.spaces s
                   where s.space_id = r.space_id and s.owner_id = 'ben' and r.ended_at is null"""
            )
        return structured({"pairs": [{"pair": 1, "verdict": "same"}]})

    with ScriptedOpenAI(reply) as server:
        tuned = settings(database_url, MUNIMENT_MODEL="m", OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="k")
        async with engine(database_url, tuned=tuned) as memory:
            for who in THREE:
                await memory.ingest(who, [note(one) for one in FIGS])
            assert came_to(await sweep(memory, dry=True)) == [("ana", 1), ("ben", 1), ("cat", 1)]
            assert [len(await memory.admin.list_runs(who)) for who in THREE] == [0, 0, 0]
            assert came_to(await sweep(memory)) == [("ana", 1), ("ben", "busy"), ("cat", 1)]
            assert [len(await active(memory, who)) for who in THREE] == [1, 2, 1]


async def test_a_sweep_tells_of_a_space_before_it_comes_to_the_next(database_url: str) -> None:
    """Nothing is gathered: who stops listening has stopped the sweep."""
    async with engine(database_url) as memory:
        for who in THREE:
            await memory.ingest(who, [note(one) for one in TWINS])
        visits = memory.admin.consolidate_each(THREE)
        first = await anext(visits)
        assert (first.scope, first.run is not None) == (THREE[0], True)
        assert [len(await memory.admin.list_runs(who)) for who in THREE] == [1, 0, 0]
        assert [len(await active(memory, who)) for who in THREE] == [1, 2, 2]
