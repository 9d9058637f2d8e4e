"""Rows of an import on disk: a sequence like a list of them."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.faces.transfer.row_file import RowFile
from muniment.memory.errors import BadInput

ROWS: list[dict[str, Any]] = [
    {"text": "Long walks in the rain", "importance": 3},
    {"text": "雨中散步 \ud800", "fact": {"object": None, "topic": [1.5, -(2**70)]}},
    {},
    {"text": "x" * 100_000},
]


def test_it_is_like_a_list() -> None:
    """Every row comes back as it was, by its place, in a slice and in order: also half a character and a large
    number."""
    with RowFile() as rows:
        for row in ROWS:
            rows.add_row(row)
        assert len(rows) == 4
        assert list(rows) == ROWS
        assert [rows[place] for place in (3, 0, -1, 1)] == [ROWS[place] for place in (3, 0, -1, 1)]
        assert [rows[1:3], rows[3:9], rows[4:]] == [ROWS[1:3], ROWS[3:9], []]
        for place in (4, -5):
            with pytest.raises(IndexError):
                rows[place]


def test_it_is_read_while_it_is_read() -> None:
    """Two readers, of which each has its own place."""
    with RowFile() as rows:
        for row in ROWS:
            rows.add_row(row)
        assert list(zip(iter(rows), reversed(rows), strict=True)) == list(zip(ROWS, reversed(ROWS), strict=True))


def test_a_row_that_is_nested_very_deeply() -> None:
    """It is refused by its number, and not by a failure of the program."""
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with RowFile() as rows:
        rows.add_row({})
        with pytest.raises(BadInput, match="row 2: is nested too deeply"):
            rows.add_row(deep)
