"""While texts are embedded, others write: an embedder that takes its time holds up nobody's writes into the same
space."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.ids import MemoryId, Vector
from muniment.memory.domain.memory import Fact, StoredMemory
from muniment.memory.domain.search import NeighbourProbe
from muniment.memory.domain.turn import Candidate
from muniment.memory.models.hash_embedder import HashEmbedder, hash_vector
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, note, said, scope
from tests.sessions import PARSER, Line, learned, unreviewed

WHO = scope()


class Slow(HashEmbedder):
    """Does not answer before somebody else has written into the space."""

    memory: Memory
    other: MemoryId | None = None
    written = 0

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        await self._wait()
        return await super().embed_documents(texts)

    async def embed_query(self, text: str) -> Vector:
        await self._wait()
        return await super().embed_query(text)

    async def _wait(self) -> None:
        if self.other is not None:
            for step in (self.memory.forget, self.memory.restore):
                self.written += len((await asyncio.wait_for(step(WHO, self.other), 3)).changes)


@pytest.fixture
async def slow(database_url: str) -> AsyncIterator[Slow]:
    embedder = Slow()
    clock, tuned = FixedClock(NOON + timedelta(minutes=10)), unreviewed(database_url)
    async with engine(database_url, embedder=embedder, clock=clock, tuned=tuned) as memory:
        embedder.memory = memory
        yield embedder


async def others(slow: Slow) -> Sequence[StoredMemory]:
    """From here on somebody else writes; what was there before."""
    before = await slow.memory.list(WHO)
    await slow.memory.ingest(WHO, [note("The kayak is blue")])
    (slow.other,) = {one.id for one in await slow.memory.list(WHO)} - {one.id for one in before}
    return before


async def whole(slow: Slow) -> list[str]:
    """The texts that are there, each with its own vector; others have written meanwhile."""
    assert slow.written
    found = [one for one in await slow.memory.list(WHO) if one.id != slow.other]
    for one in found:
        probe = NeighbourProbe(vector=hash_vector(one.text), kind=one.kind)
        _, [near] = await slow.memory.engine.store.reads.find_neighbours(WHO, [probe], 3)
        assert {item.memory.id: item.sim for item in near}[one.id] == pytest.approx(1.0, abs=1e-3)
    return [one.text for one in found]


async def test_a_name_that_is_put_right(slow: Slow) -> None:
    """The text that is kept is none that was said: it is embedded when it is known."""
    for n, name in enumerate(("Joost", "Joris")):
        text = ("The user's colleague Joost draws the planting plans", "The user's colleague is Joris, not Joost")[n]
        fact = Fact(kind="relationship", predicate="colleague", object=name, persons=(name,))
        turn = said(text)
        await slow.memory.keep_candidates(
            WHO, [Candidate(text=text, category="relationships", fact=fact, turns=(turn.id,))], [turn]
        )
        if n == 0:
            await others(slow)
    assert await whole(slow) == ["The user's colleague Joris draws the planting plans"]
    counts = (await slow.memory.admin.read_activity(WHO, 9)).counts
    assert sum(one.count for one in counts if one.op == "search") == 2


async def test_an_episode(slow: Slow) -> None:
    """It is made of what the thread holds by then."""
    await slow.memory.conversation.record(
        WHO, [said(text, at=NOON) for text in ("What about renting a car in Spain?", "Hm.", "Fine.")]
    )
    await others(slow)
    assert len((await slow.memory.conversation.capture(WHO)).changes) == 1
    assert len(await whole(slow)) == 1


async def test_a_path_in_another_wording(slow: Slow) -> None:
    """Whether two goals are one is asked of the embedder, and so is the text of both."""
    await learned(slow.memory, PARSER)
    await others(slow)
    again: list[Line] = [
        ("user", "Pull the tables from the new scan.pdf"),
        ("parse_pdf", {"path": "scan.pdf", "engine": "old"}, "exit code: 2"),
        ("parse_pdf", {"path": "scan.pdf", "engine": "ocr", "dpi": 300}, "12 tables", True),
    ]
    await learned(slow.memory, again, thread="B", start=NOON + timedelta(minutes=5))
    [text] = await whole(slow)
    assert text.startswith("Goal: Pull the tables from the new scan.pdf / Extract the tables from scan.pdf\n")


async def test_what_is_to_be_forgotten(slow: Slow) -> None:
    """The words of a wish to forget are embedded, too."""
    await slow.memory.ingest(WHO, [note("The user keeps bees")])
    await others(slow)
    await slow.memory.learn(WHO, said("Forget that I keep bees.", at=NOON + timedelta(minutes=9)))
    assert await whole(slow) == []
