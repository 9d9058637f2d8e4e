"""An import of rows that are not all in memory: the same as of a list of them, and few are held at once."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from muniment.memory.domain.plan import ImportReport
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from tests.engine import engine, said, scope
from tests.importing.large import make_export

MOST_HELD = 700  # the rows of five statements, and of a check


class _Row(dict[str, Any]):
    """A row that can be watched."""


class Watched(Sequence[dict[str, Any]]):
    """Rows that are made anew each time, and the most of them that there were at once."""

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        self._lines = [json.dumps(row) for row in rows]
        self._held = self.most = 0

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        row = _Row(json.loads(self._lines[place]))
        self._held += 1
        self.most = max(self.most, self._held)
        weakref.finalize(row, self._drop)
        return row

    def _drop(self) -> None:
        self._held -= 1


async def test_an_export_is_restored_in_portions(database_url: str) -> None:
    """Every importer in bounded memory: of 1,501 rows of an export few are held at once, they come back as they are,
    and once more they change nothing."""
    async with engine(database_url) as memory:
        rows = Watched(make_export(500))
        report = await memory.load(scope("ana"), rows)
        assert (report.added, len(rows)) == (500, 1_501)
        assert 128 <= rows.most <= MOST_HELD
        exported = await memory.export(scope("ana"))
        assert [(row["type"], row.get("rev"), row.get("text")) for row in exported] == [
            (row["type"], row.get("rev"), row.get("text")) for row in rows
        ]
        again = Watched(exported)
        assert (await memory.load(scope("ana"), again)).changes == 0
        assert again.most <= MOST_HELD
        await memory.load(scope("bo"), again)
        assert await memory.export(scope("bo")) == exported


@pytest.mark.parametrize("given", [lambda rows: rows[:-1], lambda rows: [*rows, rows[-1]], lambda rows: rows[:1]])
async def test_another_export_into_the_same_space(database_url: str, given: Any) -> None:
    """One that begins like what is known, and ends elsewhere, is another one: it is refused, and nothing changes."""
    async with engine(database_url) as memory:
        await memory.load(scope("ana"), make_export(3))
        exported = await memory.export(scope("ana"))
        with pytest.raises(BadInput, match="not empty"):
            await memory.load(scope("ana"), Watched(given(list(exported))))
        assert await memory.export(scope("ana")) == exported


async def test_an_export_of_a_former_version(database_url: str) -> None:
    """Lines of the journal without a category get that of their memory then, while they are read."""
    async with engine(database_url) as memory:
        for text in ("I live in Rome", "I live in Berlin now"):
            await memory.learn(scope("ana"), said(text))
        exported = await memory.export(scope("ana"))
        assert {row["type"] for row in exported} >= {"memory", "version", "journal"}
        former = [
            {name: value for name, value in row.items() if row["type"] != "journal" or name != "category"}
            for row in exported
        ]
        await memory.load(scope("bo"), Watched(former))
        assert await memory.export(scope("bo")) == exported


async def test_lines_are_read_in_portions(database_url: str) -> None:
    """Of 800 lines few are held at once, whatever the order of their times, and each of them is a memory."""
    lines = [{"text": f"Walk {n} by the harbour", "event_time": f"2025-03-{1 + 7 * n % 28:02}"} for n in range(400)] + [
        {"text": f"Walk {n} in the hills"} for n in range(400)
    ]
    async with engine(database_url) as memory:
        rows = Watched(lines)
        report = await memory.load(Scope(owner="ana"), rows)
        assert 128 <= rows.most <= MOST_HELD
        assert report == ImportReport(changes=800, added=800)


async def test_long_lines_are_kept_few_at_a_time(database_url: str) -> None:
    """What is kept together is bounded by its length, too; every line of it is counted."""
    written: list[int] = []
    async with engine(database_url) as memory:
        lines = [{"text": f"{n} {'harbour ' * 9_000}"} for n in range(5)]
        report = await memory.load(Scope(owner="ana"), lines, written.append)
        assert (report.added, written) == (5, [2, 2, 1])
