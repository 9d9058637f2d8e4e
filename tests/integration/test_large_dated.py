"""Questions about a time in a large space, whose days are listed, and with filters that let little pass."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.query import Filters, Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.stores.postgres.schema import large_spaces
from tests.engine import engine, settings

WHO = Scope(owner="ana")
ASKED = "What about the week of 3 May 2025?"
MAY = datetime(2025, 5, 3, 12, tzinfo=UTC)


def happened(text: str, days: int) -> Candidate:
    return Candidate(text=text, category="activity", event_time=MAY + timedelta(days=days))


# Nearer to the question than what happened then, which has no word of it.
TALK = [Candidate(text=f"what about the week, about the number {n}", category="activity") for n in range(400)]
THEN = [happened("Sheila repaired a canoe", 0), happened("Marco baked bread", 9), happened("Yuki left Oslo", -4)]
LATER = happened("Priya sold a piano", 1)


@pytest.fixture
async def memory(database_url: str) -> AsyncIterator[Memory]:
    tuned = settings(database_url)
    recall = tuned.recall.model_copy(update={"index_from": 100, "period_boost": 1.0})
    async with engine(database_url, tuned=tuned.model_copy(update={"recall": recall})) as opened:
        await opened.ingest(WHO, [*TALK, *THEN])
        yield opened


async def answer(memory: Memory) -> list[str]:
    """What is told of the time, once the process knows what indexes there are."""
    query = Query(text=ASKED, threshold=0.0, top_k=10)
    await memory.query(WHO, "supervisor", query)
    hits = (await memory.query(WHO, "supervisor", query)).hits
    return [hit.memory.text for hit in hits if hit.memory.event_time is not None]


def texts(candidates: list[Candidate]) -> set[str]:
    return {one.text for one in candidates}


async def test_what_happened_then_is_looked_at(memory: Memory) -> None:
    """All of it, by its days, and what came after the index."""
    scanned = await answer(memory)
    assert set(scanned) == texts(THEN)
    assert (await memory.admin.index(WHO)).indexed
    assert await answer(memory) == scanned
    await memory.ingest(WHO, [LATER])
    assert set(await answer(memory)) == texts([*THEN, LATER])


async def test_much_happened_then(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where that is more than is looked at one by one, the space is searched as a small one."""
    assert (await memory.admin.index(WHO)).indexed
    monkeypatch.setattr(large_spaces, "_FEW", len(THEN) - 1)
    large_spaces.fill_search_text.cache_clear()
    try:
        assert set(await answer(memory)) == texts(THEN)
    finally:
        large_spaces.fill_search_text.cache_clear()


async def test_lists_of_an_older_version_know_no_days(memory: Memory, database_url: str) -> None:
    """A scan answers until they are made anew."""
    await memory.admin.index(WHO)
    with psycopg.connect(database_url) as conn:
        conn.execute(
            "delete from muniment.postings where dimension = %s or dimension > %s",
            (large_spaces._DATED_LIST, large_spaces._FIRST_DAY_LIST),
        )
    assert set(await answer(memory)) == texts(THEN)
    await memory.jobs.perform_job(Job(name="index", scope=WHO))
    with psycopg.connect(database_url) as conn:
        days = conn.execute(
            "select count(*) from muniment.postings where dimension > %s", (large_spaces._FIRST_DAY_LIST,)
        ).fetchone()
    assert days == (len(THEN),)
    assert (await memory.admin.index(WHO)).made == ()


async def test_what_is_erased_is_in_no_list(memory: Memory, database_url: str) -> None:
    """Neither in that of its day nor in that of what is told of the user."""
    await memory.ingest(WHO, [replace(THEN[0], text="The user repaired a boat")])
    await memory.admin.index(WHO)
    [gone] = [one for one in await memory.list(WHO) if one.text == "The user repaired a boat"]
    with psycopg.connect(database_url) as conn:
        assert {
            large_spaces._USER_LIST,
            large_spaces._FIRST_DAY_LIST + (MAY - datetime(1970, 1, 1, tzinfo=UTC)).days,
        } <= lists(conn, gone.id)
    await memory.admin.erase(WHO, gone.id)
    with psycopg.connect(database_url) as conn:
        assert lists(conn, gone.id) == set()


def lists(conn: psycopg.Connection, memory_id: UUID) -> set[int]:
    found = conn.execute("select dimension from muniment.postings where %s = any(memories)", (memory_id,))
    return {dimension for (dimension,) in found}


async def test_a_filter_that_nothing_passes(memory: Memory, database_url: str) -> None:
    """The space is scanned before its index has been read from end to end."""
    more = [Candidate(text=f"{one.text} {n}", category="activity") for n in range(4) for one in TALK]
    await memory.ingest(WHO, more)
    await memory.admin.index(WHO)
    await answer(memory)
    nobody = Query(text="bread", filters=Filters(actor_id="nobody"), threshold=0.0)
    assert not (await memory.query(WHO, "supervisor", nobody)).hits
    await memory.close()  # what it has read is counted then
    with psycopg.connect(database_url) as conn:
        [(read,)] = conn.execute(
            "select idx_tup_read from pg_stat_user_indexes where starts_with(indexrelname, 'memories_near_')"
        ).fetchall()
    assert read < len(TALK) + len(more)
