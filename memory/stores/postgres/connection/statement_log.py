"""A line of the log for each statement, at DEBUG alone: its name, how long it took, and how many rows it had.

No line has a parameter: a statement is named as its block is, `messages.window` for the block `window` of
messages.sql."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from time import perf_counter
from typing import Any, Self

from psycopg import AsyncConnection, AsyncCursor, AsyncRawCursor, Error
from psycopg.abc import Params
from psycopg.pq.abc import PGresult
from psycopg.rows import Row

from muniment.memory.stores.postgres import sql

_LOG = logging.getLogger(__name__)
_UNNAMED = "a statement without a name"
_MARK = re.compile(r"%\(\w+\)[sbt]|\$\d+")  # of a parameter, in either form
_GAP = re.compile(r"\{\w+\}")  # which is filled before the statement is sent


class _WatchedCursor(AsyncCursor[Row]):
    """A cursor with a line for each statement, written when its rows are there: of those that are sent together, each
    took until then."""

    _text: str | bytes = ""
    _began = 0.0

    async def execute(
        self, query: Any, params: Params | None = None, *, prepare: bool | None = None, binary: bool | None = None
    ) -> Self:
        """Send a statement as the driver does, and note when. Raises what the driver raises."""
        self._text = query if isinstance(query, str | bytes) else ""
        self._began = perf_counter()
        try:
            return await super().execute(query, params, prepare=prepare, binary=binary)
        except Error as error:
            self._write_line(f"failed with {error.sqlstate or type(error).__name__}")
            raise

    def _set_results(self, results: list[PGresult]) -> None:  # the one place that all ways to send have in common
        super()._set_results(results)
        self._write_line(f"{max(self.rowcount, 0)} rows")

    def _write_line(self, outcome: str) -> None:
        milliseconds = (perf_counter() - self._began) * 1_000
        _LOG.debug("%s: %.1f ms, %s", name_statement(self._text), milliseconds, outcome)


class _WatchedRawCursor(_WatchedCursor[Row], AsyncRawCursor[Row]):
    """The same for statements with numbered parameters."""


def watch_statements(conn: AsyncConnection[Any]) -> None:
    """Let the statements of a connection be logged, where the log is at DEBUG by now."""
    if _LOG.isEnabledFor(logging.DEBUG):
        conn.cursor_factory = _WatchedCursor


def choose_raw_cursor() -> type[AsyncRawCursor[Any]]:
    """Return the cursor for statements with numbered parameters."""
    return _WatchedRawCursor if _LOG.isEnabledFor(logging.DEBUG) else AsyncRawCursor


@lru_cache(maxsize=1_000)
def name_statement(text: str | bytes) -> str:
    """Return the name of a statement: of its file and its block there, also where gaps of the block have been
    filled."""
    given = _MARK.sub("?", text.decode(errors="replace") if isinstance(text, bytes) else text)
    fitting = [(sum(map(len, parts)), name) for name, parts in _split_blocks().items() if _is_made_of(given, parts)]
    return max(fitting, default=(0, _UNNAMED))[1]


@cache
def _split_blocks() -> Mapping[str, Sequence[str]]:
    """The texts of all blocks between their gaps, by their names."""
    names = (file.name.removesuffix(".sql") for file in files(sql).iterdir() if file.name.endswith(".sql"))
    blocks = ((f"{name}.{block}", text) for name in names for block, text in sql.load_blocks(name).items())
    return {name: _GAP.split(_MARK.sub("?", text)) for name, text in blocks}


def _is_made_of(text: str, parts: Sequence[str]) -> bool:
    """Whether a text has these parts in order, and between them whatever the gaps were filled with."""
    first, *others = parts
    if not others:
        return text == first
    if not text.startswith(first) or not text.endswith(others[-1]):
        return False
    position = len(first)
    for part in others:
        position = text.find(part, position)
        if position < 0:
            return False
        position += len(part)
    return True
