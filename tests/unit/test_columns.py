"""Rows of an export are packed where every value is as Postgres writes it, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.memory.stores.postgres.bulk.binary_rows import PackedRows, RowType
from muniment.memory.stores.postgres.bulk.columns import pack_columns

_ID, _TIME = "bf428e1d-f221-55de-a77f-a61755a4d727", "2026-11-22T14:49:48.733637+05:30"
# By type oid: what is as an export has it, and what is not.
WRITTEN: dict[int, list[Any]] = {
    16: [True],
    20: [2**63 - 1],
    21: [5],
    23: [0],
    25: ["Zoë wants 水"],
    700: [0, 0.7],
    1009: [[], ["a,b", ""]],
    1016: [[], [7, -(2**62)]],
    1184: [_TIME, "0002-01-03T00:00:00+00:00"],
    2950: [_ID, _ID.upper()],
    2951: [[], [_ID, _ID]],
    3802: [{}, {"a": [1, None]}, "x"],
}
OTHERWISE: dict[int, list[Any]] = {
    16: [1, "true"],
    20: [2**63, 5.0, "5", True],
    21: [2**15],
    23: [-(2**31) - 1],
    25: [5, ["a"], "\ud800"],
    700: [float("nan"), float("inf"), 1e300, 1e-60, "1", True],
    1009: ["ab", {"a": 1}, [None], [["a"]], [5]],
    1016: [[True], [1.0], [[1]]],
    1184: [
        "2026-11-22T14:49:48Z",
        "2026-W47-7T14:49:48+00:00",
        "2026-11-22",
        "infinity",
        "2026-11-22T25:00:00+00:00",
        5,
    ],
    2950: [
        _ID.replace("-", ""),
        f" {_ID[1:]}",
        f"  {_ID[2:]}",
        _ID[1:9] + _ID[0] + _ID[9:],
        f"{_ID[:-1]}g",
        f"{_ID}0",
        5,
    ],
    2951: [_ID, [None], {_ID: 1}],
    3802: [{"a": float("nan")}],
}


def written(type_: int, *values: Any) -> PackedRows | None:
    shape = RowType.from_catalogue([{"name": "a", "type": type_, "row": 1}])
    return pack_columns(shape, [{"a": one} for one in values], constants={}, defaults={}, extra_cells={}, ignored=())


@pytest.mark.parametrize("type_", WRITTEN)
def test_an_export_is_packed(type_: int) -> None:
    """A value of every type, alone, beside null, and beside others."""
    for value in WRITTEN[type_]:
        assert all(written(type_, *some) for some in ((value,), (value, value), (value, None)))
    assert written(type_, *WRITTEN[type_])


@pytest.mark.parametrize(("type_", "value"), [(type_, value) for type_, some in OTHERWISE.items() for value in some])
def test_what_is_written_otherwise_is_not(type_: int, value: Any) -> None:
    """Wherever it stands among others."""
    some = WRITTEN[type_]
    assert not any(written(type_, *these) for these in ((value,), (value, value), (*some, value), (value, None, *some)))


def test_what_is_equal_is_not_the_same() -> None:
    """An object that has 1 where the next one has true keeps it."""
    assert written(3802, {"a": 1}, {"a": True}) != written(3802, {"a": 1}, {"a": 1})


def test_no_object_is_null() -> None:
    """It is one of the table's, and no text of that name."""
    found = written(3802, {"a": 1}, None)
    assert found
    assert b"null" not in found.packed


def test_two_halves_are_not_one_id() -> None:
    """What is an id only together with the next is none."""
    assert written(2950, _ID[:-1], _ID[-1] + _ID) is None


def test_rows_of_other_fields_are_not() -> None:
    """Each row says what the first one says, in the same order."""
    shape = RowType.from_catalogue([{"name": name, "type": 25, "row": 1} for name in "ab"])
    for other in {"a": "x"}, {"b": "x", "a": "x"}, {"a": "x", "b": "x", "c": "x"}:
        assert (
            pack_columns(shape, [{"a": "x", "b": "x"}, other], constants={}, defaults={}, extra_cells={}, ignored=())
            is None
        )
