"""The server restarts while a process that uses it has nothing to do: whoever asks next does not notice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psycopg

from muniment.faces.cli.conversation import ChatSession
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.query import Query
from muniment.memory.stores.postgres.embedded import server
from tests.engine import engine, scope

# Waits until each has ended: one that has not yet would end in the midst of a question.
ALL_BUT_ME = (
    "select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = current_database() and pid <> "
    "pg_backend_pid()"
)


async def test_ended_while_idle(database_url: str) -> None:
    """All connections of the pool were ended by the server: twenty questions at once are answered."""
    async with engine(database_url) as memory:

        async def ask() -> list[str]:
            answer = await memory.query(scope("ana"), "supervisor", Query(text="Where does the user live?"))
            return [hit.memory.text for hit in answer.hits]

        await memory.remember(scope("ana"), "I live in Porto")
        await asyncio.gather(*(ask() for _ in range(8)))
        async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as conn:
            await conn.execute(ALL_BUT_ME)
        assert await asyncio.gather(*(ask() for _ in range(20))) == [["The user lives in Porto"]] * 20


async def test_a_chat_goes_on(home: Path) -> None:
    """The embedded server was stopped between two turns: the second one has it started again, and is remembered."""
    settings = load_settings({"MUNIMENT_HOME": str(home), "MUNIMENT_EMBEDDER": "hash-256"})
    await server.ensure_server(home, fsync=False)
    talk = ChatSession(settings, scope("ana"))
    try:
        await talk.start()
        await talk.send_message("I live in Porto.")
        assert await server.stop_server(home)
        turn = await talk.send_message("I am allergic to walnuts.")
        answer = await talk.send_message("Where do I live?")
    finally:
        await talk.close()
    assert turn["warnings"] == []
    assert "Porto" in answer["reply"]
    assert [one["text"] for one in turn["writes"]] == ["The user is allergic to walnuts"]
