"""What a record writes of its session: once, after whom it waits, and what is recorded meanwhile counts once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from importlib.resources import files
from typing import Any

import psycopg
import pytest
from psycopg.errors import LockNotAvailable

from muniment.memory.client import Memory
from muniment.memory.domain.turn import Turn
from muniment.memory.stores.postgres import rows
from tests.citus.databases import plain
from tests.engine import NOON, engine, scope

WHO = scope(agent="planner")
FUNCTIONS = (files("muniment.migrations") / "citus" / "functions.sql").read_text(encoding="utf-8")
WAITING = "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
pytestmark = plain


@pytest.fixture(params=["plain", "citus"])
async def memory(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[Memory]:
    """A memory over the functions of the migrations, and over those that Citus gets."""
    if request.param == "citus":
        with psycopg.connect(database_url) as conn:
            conn.execute(FUNCTIONS.encode())
    async with engine(database_url) as opened:
        yield opened


def event(text: str, session: str = "A") -> Turn:
    tokens = {"tokens": {"input": 10, "output": 1}}
    return Turn.make(session=session, key=text, role="user", text=text, at=NOON, thread=session, payload=tokens)


def send_record(conn: psycopg.Connection[Any], *turns: Turn) -> None:
    """Record turns in the transaction of a connection."""
    said = rows.encode_turns((WHO, turn) for turn in turns)
    conn.execute("select muniment.record_turns(%s, %s::jsonb, %s, %s)", (WHO.space, said, NOON, NOON))


async def read_session(memory: Memory, name: str) -> tuple[list[tuple[int | None, str]], int, int, int]:
    found = await memory.sessions.get(WHO, name)
    session = found.session
    positions = [(turn.position, turn.text) for turn in found.turns]
    return positions, session.turns, session.input_tokens, session.output_tokens


@pytest.mark.parametrize("is_known", [True, False], ids=["known session", "new session"])
async def test_what_is_recorded_meanwhile_counts_once(memory: Memory, database_url: str, is_known: bool) -> None:
    """Recorders that wait for a session find that another one has recorded a turn of theirs: no gap, no turn twice."""
    first, second, third, there = event("one"), event("two"), event("three"), event("there", "B")
    await memory.conversation.record(WHO, [there] if not is_known else [first])
    with psycopg.connect(database_url, autocommit=True) as looking, psycopg.connect(database_url) as holding:
        send_record(holding, second)
        tasks = [asyncio.create_task(memory.conversation.record(WHO, turns)) for turns in ([third, second], [second])]
        while len(looking.execute(WAITING).fetchall()) < len(tasks):
            await asyncio.sleep(0.01)
        holding.commit()
        await asyncio.gather(*tasks)
    said = [first, second, third] if is_known else [second, third]
    positions = [(n, turn.text) for n, turn in enumerate(said)]
    assert await read_session(memory, "A") == (positions, len(said), 10 * len(said), len(said))
    await memory.conversation.record(WHO, [first, event("four"), there, event("and there", "B")])
    said = [*said, *([] if is_known else [first]), event("four")]
    positions = [(n, turn.text) for n, turn in enumerate(said)]
    assert await read_session(memory, "A") == (positions, len(said), 10 * len(said), len(said))
    assert await read_session(memory, "B") == ([(0, "there"), (1, "and there")], 2, 20, 2)


async def test_a_session_is_written_once(memory: Memory, database_url: str) -> None:
    """A record makes one version of the row, a replay none."""
    updates = "select n_tup_upd from pg_stat_xact_user_tables where relname = 'sessions'"
    await memory.conversation.record(WHO, [event("one")])
    with psycopg.connect(database_url) as conn:
        send_record(conn, event("one"), event("two"), event("three"))
        assert conn.execute(updates).fetchone() == (1,)
        send_record(conn, event("three"), event("one"))
        assert conn.execute(updates).fetchone() == (1,)
    assert (await read_session(memory, "A"))[1] == 3


async def test_a_commit_leaves_a_session_that_says_it_all(memory: Memory, database_url: str) -> None:
    """Learning from a turn that is recorded makes no version of the session's row; a later turn advances it."""
    place = "select ctid::text, last_at, turns from muniment.sessions"
    recorded = Turn.make(session="A", key="1", role="user", text="I live in Porto.", at=NOON, thread="A")
    await memory.conversation.record(WHO, [recorded])
    with psycopg.connect(database_url, autocommit=True) as conn:
        before = conn.execute(place).fetchall()
        assert (await memory.learn(WHO, recorded)).changes
        assert conn.execute(place).fetchall() == before
        conn.execute("update muniment.sessions set last_at = last_at - interval '1 day', app_id = null")
        earlier = conn.execute(place).fetchall()
        await memory.learn(WHO, Turn.make(session="A", key="2", role="user", text="I work at a bank.", at=NOON))
        assert earlier != before
        [(_, last_at, turns)] = conn.execute(place).fetchall()
        assert (last_at, turns) == (NOON, 1)


async def test_a_replay_waits_for_nobody(memory: Memory, database_url: str) -> None:
    """What changes nothing passes maintenance, which holds the space; what is new waits for it."""
    await memory.conversation.record(WHO, [event("one")])
    with psycopg.connect(database_url) as holding, psycopg.connect(database_url) as conn:
        holding.execute("select from muniment.spaces for update")
        conn.execute("set local lock_timeout = '100ms'")
        send_record(conn, event("one"))
        with pytest.raises(LockNotAvailable):
            send_record(conn, event("one"), event("two"))
