"""Compacting in bounded transactions: what has expired or was forgotten long ago goes, near-duplicates become one, and
over a bound the least important go. What is pinned stays."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from muniment.memory.errors import Busy
from muniment.plugin.domain.item import CompactPolicy, CompactReport, ItemOwner
from muniment.plugin.stores.local.database import LocalDatabase
from muniment.plugin.stores.local.failures import BrokenFile
from muniment.plugin.stores.local.rows import SQL, ItemRow, parse_row, to_microseconds
from muniment.plugin.stores.local.searching import read_rows, read_space
from muniment.plugin.stores.local.upkeep import Upkeep
from muniment.plugin.stores.local.vectors import NearQuery, RowFilter, SpaceState, VectorCache, decode_vector
from muniment.plugin.stores.local.writing import ItemWriter, says_same

STEP_ROWS = 200  # of one transaction, so that other writers get their turn
_NEAREST = 5
_COMPARED_AT_ONCE = 32  # vectors: what is held for them grows with the space
_LEAST_PAGES = 256  # of a file that is worth to be written anew
_FREE_SHARE = 0.25  # of its pages from which on it is
_Step = Callable[[sqlite3.Connection], tuple[int, bool]]  # how many it has removed, and whether none are left


@dataclass(slots=True, kw_only=True)
class Compaction:
    """Compacts the items of one owner by a policy."""

    database: LocalDatabase
    upkeep: Upkeep
    cache: VectorCache
    owner: ItemOwner
    policy: CompactPolicy
    model: str | None
    _cursor: tuple[int, int] = (0, 0)  # revision and number of the row that was compared last
    _until: int | None = None  # the revision up to which rows are compared
    _counts: dict[str, int] = field(default_factory=dict)

    async def run(self) -> CompactReport:
        """Remove what the policy says, and return how many. Raises as the database does; what was done stays done."""
        await self.database.read(_check_file)
        for reason, step in (
            ("expired", self._remove_expired),
            ("purged", self._purge_forgotten),
            ("merged", self._merge_copies),
            ("dropped", self._drop_least),
        ):
            self._counts[reason] = 0
            while True:
                removed, is_done = await self.database.write(partial(self._take_step, step=step))
                self._counts[reason] += removed
                if is_done:
                    break
        if any(self._counts.values()):
            self.upkeep.expect_erasure()
            await self.upkeep.erase_texts()
            with contextlib.suppress(Busy):  # where other processes are at it, it is done another time
                await self.database.run_outside_transaction(_shrink_file)
        kept = await self.database.read(self._count_items)
        return CompactReport(**self._counts, kept=kept)

    def _take_step(self, connection: sqlite3.Connection, step: _Step) -> tuple[int, bool]:
        removed, is_done = step(connection)
        if removed:
            self.upkeep.request_erasure(connection)
        return removed, is_done

    def _open_space(self, connection: sqlite3.Connection) -> tuple[SpaceState | None, ItemWriter]:
        writer = ItemWriter(connection=connection, cache=self.cache, model=None, duplicate_similarity=1.0)
        return read_space(connection, self.owner), writer

    def _remove_expired(self, connection: sqlite3.Connection) -> tuple[int, bool]:
        return self._remove_listed(connection, "list_expired", {"at": to_microseconds(self.policy.at)})

    def _purge_forgotten(self, connection: sqlite3.Connection) -> tuple[int, bool]:
        before = self.policy.at - timedelta(days=self.policy.forgotten_days)
        return self._remove_listed(connection, "list_purged", {"before": to_microseconds(before)})

    def _remove_listed(
        self, connection: sqlite3.Connection, statement: str, values: dict[str, Any]
    ) -> tuple[int, bool]:
        state, writer = self._open_space(connection)
        if state is None:
            return 0, True
        rows = self._list_rows(connection, statement, values | {"space": state.space, "limit": STEP_ROWS})
        for row in rows:
            writer.remove_row(state.space, row)
        return len(rows), len(rows) < STEP_ROWS

    def _merge_copies(self, connection: sqlite3.Connection) -> tuple[int, bool]:
        """Merge the next rows that were written since the last compaction with those that say the same."""
        state, writer = self._open_space(connection)
        if state is None or self.policy.merge_similarity is None:
            return 0, True
        if self._until is None:
            self._cursor, self._until = (state.compared, 0), state.revision
        values = {"since": self._cursor[0], "after": self._cursor[1], "until": self._until}
        rows = self._list_rows(connection, "list_uncompared", values | {"space": state.space, "limit": STEP_ROWS})
        near = self._find_near(connection, state, rows)
        gone = set[int]()
        for row in rows:
            if row.n not in gone:
                gone |= self._merge_row(connection, state, writer, row, near.get(row.n, []), gone)
        if rows:
            self._cursor = rows[-1].revision, rows[-1].n
        is_done = len(rows) < STEP_ROWS
        if is_done:
            connection.execute(SQL["mark_compared"], {"space": state.space, "revision": self._until})
        return len(gone), is_done

    def _merge_row(
        self,
        connection: sqlite3.Connection,
        state: SpaceState,
        writer: ItemWriter,
        row: ItemRow,
        near: Sequence[int],
        gone: set[int],
    ) -> set[int]:
        """Merge a row with the others that say the same, and return the numbers of those that have gone. `near` are the
        numbers of rows whose vectors are near to its own."""
        removed = set[int]()
        for other in self._list_copies(connection, state, row, near, gone):
            kept, lost = sorted((row, other), key=_rank_for_keeping)
            if lost.item.pinned:
                continue
            writer.merge_rows(state.space, kept, lost)
            removed.add(lost.n)
            if lost.n == row.n:
                break
            row = self._list_numbered(connection, [row.n])[0]
        return removed

    def _list_copies(
        self, connection: sqlite3.Connection, state: SpaceState, row: ItemRow, near: Sequence[int], gone: set[int]
    ) -> list[ItemRow]:
        """Return the other rows of the same fact: by their words, or by vectors that no rule tells apart."""
        values = (state.space, row.sameness, row.n)
        copies = [parse_row(each, self.owner) for each in connection.execute(SQL["find_copies"], values)]
        known = {row.n, *gone, *(copy.n for copy in copies)}
        return copies + [
            other
            for other in self._list_numbered(connection, [n for n in near if n not in known])
            if not other.item.deleted and says_same(row.item, other.item)
        ]

    def _find_near(
        self, connection: sqlite3.Connection, state: SpaceState, rows: Sequence[ItemRow]
    ) -> dict[int, list[int]]:
        """Return for each row with a vector the numbers of the others that are near to it."""
        if self.model is None or self.policy.merge_similarity is None:
            return {}
        found = dict[int, NearQuery]()
        for row in rows:
            vector = connection.execute(SQL["read_vector"], (row.n, self.model)).fetchone()
            if vector is not None:
                places = RowFilter(places=(row.place,), types=(row.item.type,), at=to_microseconds(self.policy.at))
                found[row.n] = NearQuery(
                    vector=decode_vector(vector[0]), rows=places, most=_NEAREST + 1, least=self.policy.merge_similarity
                )
        near, numbers = dict[int, list[int]](), list(found)
        for first in range(0, len(numbers), _COMPARED_AT_ONCE):
            some = numbers[first : first + _COMPARED_AT_ONCE]
            answers = self.cache.find_near(connection, state, self.model, [found[number] for number in some])
            for number, answer in zip(some, answers, strict=True):
                near[number] = sorted(n for n in answer if n != number)
        return near

    def _drop_least(self, connection: sqlite3.Connection) -> tuple[int, bool]:
        state, writer = self._open_space(connection)
        if state is None:
            return 0, True
        count, size = connection.execute(SQL["measure_space"], (state.space,)).fetchone()
        rows = self._list_rows(connection, "list_least", {"space": state.space, "limit": STEP_ROWS})
        dropped = 0
        for row in rows:
            if not self._is_over(count - dropped, size):
                return dropped, True
            writer.remove_row(state.space, row)
            size -= len(row.item.content.encode())
            dropped += 1
        return dropped, len(rows) < STEP_ROWS

    def _is_over(self, count: int, size: int) -> bool:
        most, most_bytes = self.policy.max_items, self.policy.max_bytes
        return (most is not None and count > most) or (most_bytes is not None and size > most_bytes)

    def _count_items(self, connection: sqlite3.Connection) -> int:
        state = read_space(connection, self.owner)
        return 0 if state is None else int(connection.execute(SQL["measure_space"], (state.space,)).fetchone()[0])

    def _list_rows(self, connection: sqlite3.Connection, statement: str, values: dict[str, Any]) -> list[ItemRow]:
        return [parse_row(each, self.owner) for each in connection.execute(SQL[statement], values)]

    def _list_numbered(self, connection: sqlite3.Connection, rows: Sequence[int]) -> list[ItemRow]:
        return sorted(read_rows(connection, rows, self.owner), key=lambda row: row.n)


def _rank_for_keeping(row: ItemRow) -> tuple[bool, float, int, str]:
    """Return the order in which one of two rows stays: what is pinned, more important, newer, of the lower id."""
    return not row.item.pinned, -row.item.importance, -row.changed, row.item.id


def _check_file(connection: sqlite3.Connection) -> None:
    answer = connection.execute(SQL["check_file"]).fetchone()
    if answer is None or answer[0] != "ok":
        raise BrokenFile


def _shrink_file(connection: sqlite3.Connection) -> None:
    free, pages = connection.execute(SQL["count_pages"]).fetchone()
    if pages >= _LEAST_PAGES and free >= _FREE_SHARE * pages:
        connection.execute(SQL["vacuum"])
    connection.execute(SQL["truncate_log"])
