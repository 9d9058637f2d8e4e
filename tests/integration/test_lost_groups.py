"""The database is lost while a group of writers is committed: no acknowledged write is lost, and none is doubled."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.plan import Receipt
from muniment.memory.errors import StoreDown
from muniment.memory.models.hash_embedder import HashEmbedder
from tests.engine import scope
from tests.integration.test_batch_kills import HERE, WAITS
from tests.integration.test_cut_off import Admin, quick
from tests.integration.test_groups import JOURNAL, TRANSACTIONS, say_anything, waiting
from tests.wire import Wire

WRITERS = 20  # more than one group has
WHERE = {
    "before its commit": "create trigger a_stop before insert on muniment.journal",
    "in its commit": "create constraint trigger a_stop after insert on muniment.journal deferrable initially deferred",
}
STOP = """
create function public.stop_here() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared({here});
  return new;
end $$;
{where} for each row execute function public.stop_here()
"""
ANA = scope("ana")


async def write_until_stopped(
    memory: Memory, admin: Admin, texts: list[str]
) -> tuple[list[asyncio.Task[Receipt]], int]:
    """Begin as many writes at once. Returns them when the first group waits at the stop, with its Postgres process."""
    async with waiting(memory, ANA, [memory.remember(ANA, text) for text in texts]) as tasks:
        admin.conn.execute("select pg_advisory_lock(%s)", (HERE,))
    await admin.until(lambda: admin.one(WAITS, HERE) is not None)
    return tasks, admin.one(WAITS, HERE)


async def settle(admin: Admin, memory: Memory, texts: list[str], tasks: list[asyncio.Task[Receipt]]) -> list[bool]:
    """Check what became of the writes, and that each can be said again. Returns which of them were acknowledged."""
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [each for each in outcomes if not isinstance(each, Receipt | StoreDown)] == []
    is_kept = [isinstance(each, Receipt) for each in outcomes]
    await admin.until(lambda: not admin.one(WAITS, HERE))
    held = Counter(each.text for each in await memory.list(ANA, limit=100))
    assert max(held.values(), default=1) == 1
    for text, outcome in zip(texts, outcomes, strict=True):
        if isinstance(outcome, Receipt):
            assert outcome.changes[0].after.text in held, text
    await asyncio.gather(*(memory.remember(ANA, text) for text in texts))
    again = Counter(each.text for each in await memory.list(ANA, limit=100))
    assert sorted(again.values()) == [1] * len(texts)
    revisions = admin.one(JOURNAL, ANA.space)
    assert revisions == list(range(1, len(revisions) + 1))
    return is_kept


@pytest.mark.parametrize("where", WHERE)
async def test_its_connection_is_ended(database_url: str, tmp_path: Path, where: str) -> None:
    """The server ends the connection of a group: nothing of the group is kept, its writers learn it, and those behind
    it go on."""
    texts = [say_anything(n) for n in range(WRITERS)]
    tuned = load_settings(quick(database_url, tmp_path))
    async with bootstrap.create_memory(tuned, embedder=HashEmbedder()) as memory:
        await memory.remember(ANA, "I live in Porto")
        await memory.admin.erase_space(ANA)
        with Admin(database_url) as admin:
            admin.conn.execute(STOP.format(here=HERE, where=WHERE[where]))
            tasks, pid = await write_until_stopped(memory, admin, texts)
            admin.conn.execute("select pg_terminate_backend(%s, 5000)", (pid,))
            admin.conn.execute("select pg_advisory_unlock(%s)", (HERE,))
            is_kept = await settle(admin, memory, texts, tasks)
    assert is_kept.count(False) > 1  # it was a group
    assert any(is_kept)


@pytest.mark.parametrize("where", [*WHERE, ""])
async def test_its_answer_is_lost(database_url: str, tmp_path: Path, where: str) -> None:
    """The way to the server is cut. A group that had reached it, with its commit, is kept; one that had not is not. The
    writers are told that the database does not answer; said again, nothing is there twice."""
    texts = [say_anything(n) for n in range(WRITERS)]
    with Admin(database_url) as admin, Wire(database_url) as way:
        tuned = load_settings(quick(way.url, tmp_path))
        async with bootstrap.create_memory(tuned, embedder=HashEmbedder()) as memory:
            await memory.remember(ANA, "I live in Porto")
            await memory.admin.erase_space(ANA)
            if where:
                admin.conn.execute(STOP.format(here=HERE, where=WHERE[where]))
                tasks, _ = await write_until_stopped(memory, admin, texts)
                way.stall()
                admin.conn.execute("select pg_advisory_unlock(%s)", (HERE,))
            else:
                async with waiting(memory, ANA, [memory.remember(ANA, text) for text in texts]) as tasks:
                    way.stall()
            await asyncio.wait(tasks, timeout=60)
            count = admin.one(TRANSACTIONS, ANA.space)
            written = admin.one("select count(*) from muniment.memories where space_id = %s", ANA.space)
            way.heal()
            is_kept = await settle(admin, memory, texts, tasks)
    assert not any(is_kept)
    assert (count, written > 1) == ((1, True) if where else (0, False))
