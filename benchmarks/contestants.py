"""Who takes part in the latency benchmark: Muniment, the floor under it, and LangGraph's store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp
from langgraph.store.postgres import AsyncPostgresStore
from pgvector import HalfVector
from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from benchmarks.synthetic import DIMENSIONS, Asked, Made
from muniment.memory.client import Memory
from muniment.memory.domain.ids import Vector
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import BadConfig
from muniment.memory.ports.embedders import Embedder

K = 10
AGENT = "supervisor"
CONNECTIONS = 10  # of every contestant

# `text` is what makes the answers comparable, and an answer without the text would answer nobody.
_FLOOR = """
select m.text from muniment.memories m where m.space_id = %s and m.state = 'active'
order by m.embedding <=> %s limit 10
"""
_DENSE = 60
_PUTS = 500  # operations a batch
Embed = Callable[[Sequence[str]], Awaitable[list[list[float]]]]


class Contestant(Protocol):
    """Answers a question with texts, the best first."""

    async def search(self, asked: Asked) -> list[str]: ...


class Replay:
    """An embedder that knows its vectors beforehand. With `behind`, that embedder does its work first, for nothing."""

    def __init__(self, name: str, behind: Embedder | None = None) -> None:
        self.name = name
        self.dimensions = DIMENSIONS
        self.behind = behind
        self.known: dict[str, Vector] = {}
        self._asked = 0

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        if self.behind is not None:
            await self.behind.embed_documents(texts)
        return [self.known[text] for text in texts]

    async def embed_query(self, text: str) -> Vector:
        if self.behind is not None:
            self._asked += 1
            await self.behind.embed_query(
                f"{text} {self._asked}"
            )  # the number keeps it out of the embedder's own cache
        return self.known[text]

    async def lists(self, texts: Sequence[str]) -> list[list[float]]:
        """As LangGraph wants them."""
        return [self.known[text].tolist() for text in texts]

    async def close(self) -> None:
        if self.behind is not None:
            await self.behind.close()


class Muniment:
    """`memory.query`, the whole of it, as an agent calls it."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    async def search(self, asked: Asked) -> list[str]:
        answer = await self.memory.query(Scope(owner=asked.owner), AGENT, Query(text=asked.text, top_k=K))
        return [hit.memory.text for hit in answer.hits]

    async def dense(self, asked: Asked) -> list[str]:
        """What the dense channel found, best cosine first, before near-duplicates are folded: no memory has a word of
        the question, so no other channel speaks."""
        query = Query(text=asked.unheard, top_k=_DENSE, threshold=0.0, budget_tokens=10**9)
        reader, search = await self.memory.engine.recall.authorize_query(Scope(owner=asked.owner), AGENT, query)
        found = (await self.memory.engine.recall.retrieve_hits(reader, query, search)).snapshot.hits
        return [one.memory.text for one in sorted(found, key=lambda one: -(one.cosine or 0.0))][:K]

    async def load(self, owner: str, made: Sequence[Made]) -> None:
        """Through the engine's own bulk import: the rows are what Muniment writes."""
        await self.memory.ingest(
            Scope(owner=owner),
            [Candidate(text=one.text, category=one.category, kind="semantic", confidence=1.0) for one in made],
        )


class Found:
    """What the store finds for the same question by the same statement; nothing is ranked or packed."""

    def __init__(self, memory: Memory) -> None:
        self.engine = memory.engine

    async def search(self, asked: Asked) -> list[str]:
        reader, search = await self.engine.recall.authorize_query(
            Scope(owner=asked.owner), AGENT, Query(text=asked.text, top_k=K)
        )
        return [one.memory.text for one in (await self.engine.store.reads.read_snapshot(reader, search)).hits]


class Floor:
    """Exact nearest neighbours in plain SQL on Muniment's own table: prepared, no row-level security, nothing else."""

    def __init__(self, pool: AsyncConnectionPool[AsyncConnection]) -> None:
        self.pool = pool

    async def search(self, asked: Asked) -> list[str]:
        async with self.pool.connection() as conn:
            cursor = await conn.execute(
                _FLOOR, (Scope(owner=asked.owner).space, HalfVector(asked.vector)), prepare=True
            )
            return [text for (text,) in await cursor.fetchall()]


class Store:
    """LangGraph's `AsyncPostgresStore` as it comes, with its vector index."""

    def __init__(self, store: AsyncPostgresStore) -> None:
        self.store = store

    async def search(self, asked: Asked) -> list[str]:
        found = await self.store.asearch(("memories", asked.owner), query=asked.text, limit=K)
        return [item.value["text"] for item in found]

    async def load(self, owner: str, made: Sequence[Made]) -> None:
        puts = [
            PutOp(("memories", owner), str(n), {"text": one.text, "category": one.category})
            for n, one in enumerate(made)
        ]
        for start in range(0, len(puts), _PUTS):
            await self.store.abatch(puts[start : start + _PUTS])


@asynccontextmanager
async def open_floor(dsn: str) -> AsyncIterator[Floor]:
    """Raises BadConfig unless the role may read past row-level security, as that of the embedded server may."""
    pool = AsyncConnectionPool(
        dsn, min_size=1, max_size=CONNECTIONS, kwargs={"autocommit": True}, open=False, configure=_configure
    )
    async with pool:
        async with pool.connection() as conn:
            row = await (
                await conn.execute("select rolsuper or rolbypassrls from pg_roles where rolname = current_user")
            ).fetchone()
        if not row or not row[0]:
            raise BadConfig("the floor needs a database role that bypasses row-level security, such as a superuser")
        yield Floor(pool)


@asynccontextmanager
async def open_store(
    dsn: str, embed: Embed | Embeddings, dims: int = DIMENSIONS, field: str = "text"
) -> AsyncIterator[Store]:
    """A store with its tables made, which embeds a field; its pool is as large as the others'."""
    async with AsyncPostgresStore.from_conn_string(
        dsn,
        pool_config={"min_size": 1, "max_size": CONNECTIONS},
        index={"dims": dims, "embed": embed, "fields": [field]},
    ) as store:
        await store.setup()
        yield Store(store)


async def _configure(conn: AsyncConnection) -> None:
    await register_vector_async(conn)
    await conn.execute("set jit = off")
