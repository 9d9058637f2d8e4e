"""The lines of the log for statements: their names and counts, never what is in them, and none above DEBUG."""

from __future__ import annotations

import logging
import re

import psycopg
import pytest

from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import StoreError
from muniment.memory.stores.postgres.connection.statement_log import (
    choose_raw_cursor,
    name_statement,
    watch_statements,
)
from muniment.memory.stores.postgres.sql import load_blocks
from tests.engine import engine

ANA = Scope(owner="ana")
TEXT = "My heron nests beside the turquoise harbour."
LINE = re.compile(r"(\w+\.\w+): \d+\.\d ms, (\d+ rows|failed with \w+)")


def read_lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """The names and what came of them."""
    told = [record.getMessage() for record in caplog.records if record.name.endswith("statement_log")]
    found = [LINE.fullmatch(line) for line in told]
    assert all(found), told
    return [(match[1], match[2]) for match in found if match]


async def test_every_statement(database_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """Alone, in one portion with others, or with numbered parameters: one line with its rows."""
    caplog.set_level(logging.DEBUG, logger="muniment")
    async with engine(database_url) as memory:
        await memory.remember(ANA, TEXT)
        caplog.clear()
        answer = await memory.query(ANA, "supervisor", Query(text="Where does my heron nest?"))
        brief = await memory.brief(ANA, "supervisor", "Where does my heron nest?")
        assert (len(answer.hits), len(brief.bullets)) == (1, 1)
        lines = read_lines(caplog)
        assert lines.count(("search.search", "1 rows")) > 1
        assert {"read.snapshot", "read.enter", "search.stable", "read.commit"} <= {name for name, _ in lines}
        assert "heron" not in "".join(record.getMessage() for record in caplog.records)


async def test_a_statement_that_fails(database_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """Its line has the code of the error, and no text of it."""
    caplog.set_level(logging.DEBUG, logger="muniment")
    async with engine(database_url) as memory:
        await memory.remember(ANA, TEXT)
        with psycopg.connect(database_url) as conn:
            conn.execute("drop view muniment.messages; alter table muniment.turns rename column hash to hushed")
        caplog.clear()
        with pytest.raises(StoreError):
            await memory.sessions.read_window(Scope(owner="ana", session="s"), 5)
        assert ("messages.window", "failed with 42703") in read_lines(caplog)


async def test_no_line_above_debug(database_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """At INFO a connection is not watched at all."""
    caplog.set_level(logging.INFO, logger="muniment")
    async with engine(database_url) as memory:
        await memory.remember(ANA, TEXT)
    assert read_lines(caplog) == []
    async with await psycopg.AsyncConnection.connect(database_url) as conn:
        watch_statements(conn)
        assert (conn.cursor_factory, choose_raw_cursor()) == (psycopg.AsyncCursor, psycopg.AsyncRawCursor)


def test_names() -> None:
    """A block is known by its text, whatever its gaps are filled with; anything else has no name."""
    assert name_statement(load_blocks("messages")["append"]) == "messages.append"
    assert name_statement(load_blocks("search")["stable"].replace("{source}", "muniment.memories m")) == "search.stable"
    assert name_statement(b"select 'mine'") == "a statement without a name"
