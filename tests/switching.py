"""What tests of a switch of the embedder need: a space with a past, its answers, and what is left to do."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg

from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.domain.ids import Revision, Vector
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, note, said, scope, settings

NEXT = HashEmbedder(40)  # so few dimensions that it takes one text for another: its answers differ from those of 256
QUERIES = (
    "harbour coffee",
    "walks with the dog",
    "the old lighthouse",
    "where does the user live",
    "green tea at noon",
)
WORDS = ("harbour coffee dog walk lighthouse tea train garden violin bread rain letter mountain river market").split()  # noqa: SIM905 - a list of words
Hook = Callable[[], Awaitable[None]]
Answers = list[tuple[str, int | None, list[tuple[str, float]]]]


class Watched(HashEmbedder):
    """Lets something happen whenever texts are embedded, and counts them."""

    def __init__(self, dimensions: int, hook: Hook | None = None) -> None:
        super().__init__(dimensions)
        self.hook, self.texts = hook, 0

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        self.texts += len(texts)
        found = await super().embed_documents(texts)
        if self.hook is not None:
            await self.hook()
        return found


def some(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [f"{' '.join(chance.sample(WORDS, 4))} number {n}" for n in range(count)]


async def fill(memory: Memory, owner: str, count: int, seed: int) -> Scope:
    """A space with memories and with former versions of some: pinned, corrected."""
    mine = scope(owner)
    await memory.ingest(mine, [note(text) for text in some(count, seed)])
    for city in ("Porto", "Berlin", "Oslo"):
        await memory.learn(mine, said(f"I live in {city}."))
    for one in await memory.list(mine, limit=3):
        await memory.pin(mine, one.id)
    return mine


async def answers(memory: Memory, mine: Scope, *revisions: int, texts: Sequence[str] = QUERIES) -> Answers:
    """What each query finds now and at some revisions: texts and scores in order."""
    found: Answers = []
    for text in texts:
        for rev in (None, *revisions):
            as_of = None if rev is None else Revision(rev)
            asked = Query(text=text, top_k=10, budget_tokens=4000, threshold=0.0, as_of=as_of)
            hits = (await memory.query(mine, "supervisor", asked)).hits
            found.append((text, rev, [(hit.memory.text, hit.score) for hit in hits]))
    return found


async def ought(url: str, rows: Sequence[dict[str, Any]], mine: Scope, *revisions: int) -> Answers:
    """The answers of the next embedder to a space that never had another."""
    async with engine(url, embedder=NEXT) as memory:
        await memory.load(mine, rows)
        return await answers(memory, mine, *revisions)


def counts(url: str, question: str) -> int:
    with psycopg.connect(url) as conn:
        row = conn.execute(question).fetchone()
    assert row is not None
    return int(row[0])


def without(url: str, model: str) -> int:
    """Memories and versions that have no vector of the model, in whichever column."""
    return counts(
        url,
        f"""select count(*) from (
              select embedding_model, next_model from muniment.memories
              union all select embedding_model, next_model from muniment.memory_versions) m
            where '{model}' not in (embedding_model, coalesce(next_model, ''))""",
    )


def untidy(url: str) -> int:
    return counts(
        url,
        """select (select count(*) from muniment.memories where next_model is not null or next_embedding is not null)
             + (select count(*) from muniment.memory_versions
               where next_model is not null or next_embedding is not null)""",
    )


@asynccontextmanager
async def unopened(url: str, embedder: HashEmbedder) -> AsyncIterator[Memory]:
    """An engine whose embedder need not be the database's."""
    memory = bootstrap.create_memory(settings(url), embedder=embedder, clock=FixedClock(NOON))
    try:
        yield memory
    finally:
        await memory.close()
