"""What a local store does beside its calls: it notes when items were found, takes forgotten texts out of the file, and
makes vectors that are missing."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from muniment.memory.errors import StoreError
from muniment.plugin.embedding import TextEmbedder
from muniment.plugin.stores.local.database import LocalDatabase
from muniment.plugin.stores.local.rows import SQL
from muniment.plugin.stores.local.vectors import encode_vector

if TYPE_CHECKING:
    from muniment.memory.domain.ids import Vector

_ACCESSES = 256  # that wait, at most, before they are written
_ACCESS_SECONDS = 60.0
_ERASE_SECONDS = 2.0  # between two times that the index is rebuilt after something was forgotten
_FILL_SECONDS = 5.0  # between two looks for rows without a vector
_FILL_ROWS = 64  # that get their vectors at once


class Upkeep:
    """Does in the background what no caller waits for. What is not done when the process ends is done later, except
    for the times of the last finds."""

    def __init__(self, database: LocalDatabase, embedder: TextEmbedder | None) -> None:
        self._database = database
        self._embedder = embedder
        self._accessed: dict[int, int] = {}
        self._must_erase = True  # a process that was killed may have left something
        self._written_at = monotonic()
        self._erased_at = self._filled_at = float("-inf")
        self._task: asyncio.Task[None] | None = None

    def note_hits(self, rows: Iterable[int], at: int) -> None:
        """Note that rows were found at a time, in microseconds: written with the next write, or after a minute."""
        self._accessed.update({n: max(at, self._accessed.get(n, 0)) for n in rows})

    def forget_hits(self) -> None:
        """Drop what was noted of a file that another one has replaced."""
        self._accessed = {}

    def write_hits(self, connection: sqlite3.Connection) -> None:
        """Write in a transaction when rows were found."""
        accessed, self._accessed = self._accessed, {}
        self._written_at = monotonic()
        connection.executemany(SQL["note_access"], [{"n": n, "at": at} for n, at in accessed.items()])

    def request_erasure(self, connection: sqlite3.Connection) -> None:
        """Note in the transaction that removes a text that the index and the log have to lose it, too. Once it is
        committed `expect_erasure` is called."""
        connection.execute(SQL["request_erasure"])

    def expect_erasure(self) -> None:
        """Note that a request was committed. Before that a run that reads the requests would not find it."""
        self._must_erase = True

    def start(self, *, can_embed: bool) -> None:
        """Begin what is due, unless it is under way. `can_embed`: the embedder has just answered."""
        if self._task is not None and not self._task.done():
            return
        at = monotonic()
        is_erasing = self._must_erase and at >= self._erased_at + _ERASE_SECONDS
        is_filling = can_embed and at >= self._filled_at + _FILL_SECONDS
        is_late = bool(self._accessed) and at >= self._written_at + _ACCESS_SECONDS
        if is_erasing or is_filling or is_late or len(self._accessed) >= _ACCESSES:
            self._task = asyncio.create_task(self._run(is_erasing=is_erasing, is_filling=is_filling))

    async def finish(self) -> None:
        """Do all that waits, but vectors. A file that cannot be written keeps it for the next time."""
        if self._task is not None:
            await self._task
        with suppress(StoreError):
            if self._accessed:
                await self._database.write(self.write_hits)
            if self._must_erase and self._database.is_open:
                await self.erase_texts()

    async def erase_texts(self) -> None:
        """Take forgotten texts out of the index of words and out of the log. Raises StoreFull, StoreDown, Busy."""
        self._must_erase, self._erased_at = False, monotonic()
        requests = await self._database.read(_count_requests)
        if not requests:
            return
        try:
            await self._database.write(_merge_words)
            is_done = await self._database.run_outside_transaction(_truncate_log)
        except BaseException:
            self._must_erase = True
            raise
        if is_done:
            await self._database.write(partial(_note_erasure, requests=requests))
        else:  # a reader has the log open
            self._must_erase = True

    async def fill_vectors(self) -> None:
        """Make the vectors that are missing, a bounded number at once, as long as the embedder answers."""
        self._filled_at = monotonic()
        if self._embedder is None:
            return
        model = self._embedder.name
        while rows := await self._database.read(lambda connection: _list_unembedded(connection, model)):
            vectors = await self._embedder.embed_documents([content for _, _, content in rows])
            if all(vector is None for vector in vectors):
                return
            pairs = [(row, vector) for row, vector in zip(rows, vectors, strict=True) if vector is not None]
            await self._database.write(partial(_put_vectors, pairs=pairs, model=model))
            if len(pairs) < len(rows):  # some texts say nothing to the model, and would be asked for again
                return

    async def _run(self, *, is_erasing: bool, is_filling: bool) -> None:
        with suppress(StoreError):  # it is done another time
            if self._accessed:
                await self._database.write(self.write_hits)
            if is_erasing:
                await self.erase_texts()
            if is_filling:
                await self.fill_vectors()


def _count_requests(connection: sqlite3.Connection) -> int:
    return int(connection.execute(SQL["must_erase"]).fetchone()[0])


def _merge_words(connection: sqlite3.Connection) -> None:
    connection.execute(SQL["merge_words"])


def _truncate_log(connection: sqlite3.Connection) -> bool:
    return not connection.execute(SQL["truncate_log"]).fetchone()[0]


def _note_erasure(connection: sqlite3.Connection, requests: int) -> None:
    connection.execute(SQL["note_erasure"], (requests,))


def _list_unembedded(connection: sqlite3.Connection, model: str) -> list[tuple[int, int, str]]:
    return connection.execute(SQL["list_unembedded"], {"model": model, "limit": _FILL_ROWS}).fetchall()


def _put_vectors(
    connection: sqlite3.Connection, pairs: Sequence[tuple[tuple[int, int, str], Vector]], model: str
) -> None:
    """Write the vectors of rows whose content is as it was."""
    revisions = dict[int, int]()
    for (n, space, content), vector in pairs:
        if connection.execute(SQL["has_content"], {"n": n, "content": content}).fetchone() is None:
            continue
        if space not in revisions:
            revisions[space] = connection.execute(SQL["advance_revision"], (space,)).fetchone()[0]
        connection.execute(SQL["put_vector"], {"n": n, "model": model, "data": encode_vector(vector)})
        connection.execute(SQL["touch_item"], {"n": n, "revision": revisions[space]})
