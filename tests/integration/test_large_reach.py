"""Places and ends in a large space: its indexes find what a scan finds, there and nowhere else."""

from datetime import timedelta

from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, note, settings

WHO = Scope(owner="ana")
HARBOUR = Scope(owner="ana", project="harbour")


async def test_a_large_space_keeps_to_them(database_url: str) -> None:
    """What was there when the indexes were made, and what came since."""
    tuned, clock = settings(database_url), FixedClock(NOON)
    tuned = tuned.model_copy(update={"recall": tuned.recall.model_copy(update={"index_from": 100})})
    async with engine(database_url, tuned=tuned, clock=clock) as memory:
        await memory.ingest(WHO, [note(f"Log {n} of the crane {n % 7} and the quay.") for n in range(300)])
        await memory.ingest(HARBOUR, [note("Builds of the harbour use pnpm.", reach="project")])
        await memory.ingest(WHO, [note("Until noon pnpm is broken.", expires_at=NOON + timedelta(hours=1))])
        assert (await memory.admin.index(WHO)).indexed
        for _ in range(2):

            async def find(place: Scope) -> set[str]:
                answer = await memory.query(place, "supervisor", Query(text="pnpm"))
                return {hit.memory.text for hit in answer.hits if "pnpm" in hit.memory.text}

            broken = {"Until noon pnpm is broken."} if clock.now() == NOON else set[str]()
            own = {one.text for one in await memory.list(HARBOUR, limit=1_000) if one.reach == "project"}
            assert await find(WHO) == broken
            assert await find(HARBOUR) == own | broken
            await memory.ingest(HARBOUR, [note("Tests of the harbour use pnpm, too.", reach="project")])
            clock.advance(7_200)
