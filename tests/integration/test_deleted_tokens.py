"""A token that is deleted, by whatever process, while its exchanges are stored and learned from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import psycopg
import pytest

from muniment.faces.proxy.storing import StoringOrder, store_exchange
from muniment.memory.client import Memory
from muniment.memory.domain.query import Query
from muniment.memory.errors import TokenDeleted
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine
from tests.integration.test_message_stream import (
    TOKEN,
    WHO,
    BlockedEmbedder,
    add_tokens,
    append,
    assistant,
    exchange,
    look,
    read,
    store,
    user,
)

REVOKE = f"update muniment.tokens set revoked_at = now() where token_id = '{TOKEN}'"


@pytest.fixture(autouse=True)
def tokens(database_url: str) -> None:
    """The tokens that there are."""
    add_tokens(database_url)


@pytest.fixture
async def memory(database_url: str) -> AsyncIterator[Memory]:
    async with engine(database_url) as opened:
        yield opened


async def test_a_token_that_is_revoked_while_its_exchanges_are_stored(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Who waits for what is announced waits for what is learned of it, too; a later exchange finds the token gone."""
    embedder, order = BlockedEmbedder(), StoringOrder()
    async with engine(database_url, embedder=embedder) as memory:

        def begin(text: str) -> asyncio.Task[None]:
            announced, exchanged = order.announce_exchange(WHO), exchange([user(text)], assistant("OK."))
            return asyncio.create_task(
                store_exchange(memory, WHO, exchanged, days=None, timeout_seconds=30, announcement=announced)
            )

        first = begin("I live in Porto.")
        await order.wait_for_exchanges(WHO)
        with psycopg.connect(database_url) as conn:
            conn.execute(REVOKE)
        later, finishing = begin("I live in Rome."), asyncio.create_task(order.finish_exchanges(WHO))
        with caplog.at_level("INFO"):
            await later
        assert "is not stored: its token is deleted" in caplog.text
        await asyncio.sleep(0.1)
        assert not finishing.done()
        embedder.released.set()
        await asyncio.gather(first, finishing)
        assert [each["content"] for each in await read(memory)] == ["I live in Porto.", "OK."]


async def test_a_deletion_by_another_process_waits_for_what_is_being_stored(memory: Memory, database_url: str) -> None:
    """And who comes while a deletion is under way waits for it, and stores nothing."""
    async with await psycopg.AsyncConnection.connect(database_url) as writer:
        await writer.execute("select muniment.hold_token(%s)", (WHO.tenant,))  # as the transaction that appends does
        async with await psycopg.AsyncConnection.connect(database_url) as other:
            deleting = asyncio.create_task(other.execute(REVOKE))
            await asyncio.sleep(0.3)
            assert not deleting.done()
            await writer.commit()
            await deleting  # it holds the token now, and is not committed
            storing = asyncio.create_task(store(memory, exchange([user("I live in Rome.")], assistant("OK."))))
            await asyncio.sleep(0.3)
            assert not storing.done()
        await storing
    assert await read(memory) == []
    assert look(database_url, "select from muniment.spaces") == []


async def test_a_memory_that_another_process_erases_while_it_learns(database_url: str) -> None:
    """Nothing founds the space of a token anew: not what is learned, nor counted, nor said later."""
    embedder, clock = BlockedEmbedder(), FixedClock(NOON)
    async with engine(database_url, embedder=embedder, clock=clock) as memory, engine(database_url) as other:
        await store(other, exchange([user("My dog is called Rex.")], assistant("OK.")))
        learning = asyncio.create_task(store(memory, exchange([user("I live in Porto.")], assistant("Nice."))))
        async with asyncio.timeout(20):
            while len(await read(other)) < 4:
                await asyncio.sleep(0.02)
        counts = (await other.admin.erase_space(WHO.owner_scope)).counts
        assert (counts["tokens"], counts["turns"]) == (1, 4)
        embedder.released.set()
        await learning
        clock.advance(60)
        await memory.query(WHO, "supervisor", Query(text="Where do I live?"))  # which is counted, after the erasure
        await memory.conversation.flush(WHO)
        with pytest.raises(TokenDeleted):
            await append(memory, user("Hello."))
    with psycopg.connect(database_url) as conn:
        for table in ("spaces", "turns", "memories", "journal", "events", "sessions"):
            assert conn.execute(f"select count(*) from muniment.{table}").fetchone() == (0,), table
