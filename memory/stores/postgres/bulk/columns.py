"""Rows of an export packed column by column: much of a column is the same in every row.

Only values as `export` writes them are packed. Rows with other values go to the server as JSON, which judges them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from itertools import chain, islice, repeat
from math import isfinite
from struct import Struct, error
from typing import Any

from muniment.memory.stores.postgres.bulk.binary_rows import (
    NULL,
    OF_BIGINT,
    OF_TEXT,
    OF_UUID,
    SIZE,
    TIME_SIZE,
    UUID_SIZE,
    PackedRows,
    RowType,
    encode_array,
    encode_cell,
    encode_time,
)

Cells = list[bytes]
_UNPACKABLE = (AttributeError, LookupError, TypeError, ValueError, OverflowError, error)
_ID_LENGTH, _HYPHENS = 36, (8, 13, 18, 23)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?[+-]\d\d:\d\d", re.ASCII)
_LEAST_REAL = 1e-37  # the server decides whether a smaller one is a number
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def pack_columns(
    shape: RowType,
    rows: Sequence[Mapping[str, Any]],
    *,
    constants: Mapping[str, bytes],
    defaults: Mapping[str, bytes],
    extra_cells: Mapping[str, Cells],
    ignored: Collection[str],
) -> PackedRows | None:
    """Return the rows as one parameter; None when one has other fields than the rest or a value in another form.

    `constants`: values that every row has; `defaults`: values of columns that the rows do not have; `extra_cells`:
    cells of columns that the rows do not have; `ignored`: fields of the rows that are left out."""
    names = tuple(rows[0])
    if [*map(tuple, rows)].count(names) < len(rows):
        return None
    same: dict[str, bytes] = {name: value for name, value in defaults.items() if name not in names} | dict(constants)
    cells: dict[str, Cells] = dict(extra_cells)
    try:
        for name, values in zip(names, zip(*(row.values() for row in rows), strict=True), strict=True):
            if name in ignored or name not in shape.types:
                continue
            column = _pack_column(_PACKERS[shape.types[name]], values)
            if isinstance(column, bytes):
                same[name] = column
            elif column is not None:
                cells[name] = column
    except _UNPACKABLE:
        return None
    return shape.pack_rows(_join_cells(shape, same, cells, len(rows)))


def _join_cells(shape: RowType, same: Mapping[str, bytes], cells: Mapping[str, Cells], count: int) -> Cells:
    named = sorted(cells, key=shape.places.__getitem__)
    *before, rest = shape.build_frame(same, named)
    parts = chain.from_iterable((repeat(head, count), cells[name]) for head, name in zip(before, named, strict=True))
    return [encode_cell(b"".join(row)) for row in zip(*parts, repeat(rest, count), strict=True)]


def _pack_column(pack: Callable[[Sequence[Any]], Cells], values: Sequence[Any]) -> Cells | bytes | None:
    """Return the cells of a column; for one value in every row that value without its size, None for null."""
    first = values[0]
    # Not lists and objects: [1] and [True] are equal, as 1 and True are, but these differ in type.
    plain = not first or not isinstance(first, list | dict)
    if plain and first == values[-1] and values.count(first) == len(values) and len(set(map(type, values))) == 1:
        return None if first is None else pack(values[:1])[0][4:]
    try:
        return pack(values)
    except TypeError:
        cells = iter(pack([value for value in values if value is not None]))
        return [NULL if value is None else next(cells) for value in values]


def _require_types(values: Sequence[Any], *types: type) -> None:
    if not set(map(type, values)) <= {*types}:
        raise TypeError


def _pack_texts(values: Sequence[Any]) -> Cells:
    return [SIZE(len(text)) + text for text in map(str.encode, values)]


def _pack_uuids(values: Sequence[Any]) -> Cells:
    text, count = "".join(values), len(values)
    if set(map(len, values)) != {_ID_LENGTH} or any(text[place::_ID_LENGTH] != "-" * count for place in _HYPHENS):
        raise ValueError
    packed = bytes.fromhex(text.replace("-", ""))
    if len(packed) != 16 * count:  # there was a space, or one hyphen more
        raise ValueError
    return [UUID_SIZE + packed[start : start + 16] for start in range(0, len(packed), 16)]


def _pack_times(values: Sequence[Any]) -> Cells:
    return list(map(_pack_time, values))


@lru_cache(maxsize=4_096)
def _pack_time(value: str) -> bytes:
    if not _TIME.fullmatch(value):
        raise ValueError
    return TIME_SIZE + encode_time(datetime.fromisoformat(value))


def _pack_integers(layout: str, values: Sequence[Any]) -> Cells:
    _require_types(values, int)
    pack, size = Struct(f">i{layout}").pack, Struct(f">{layout}").size
    return [pack(size, value) for value in values]


def _pack_reals(values: Sequence[Any]) -> Cells:
    _require_types(values, int, float)
    if not all(isfinite(value) and (not value or abs(value) > _LEAST_REAL) for value in values):
        raise ValueError
    return [_REAL(4, value) for value in values]


def _pack_booleans(values: Sequence[Any]) -> Cells:
    _require_types(values, bool)
    return [SIZE(1) + (b"\x01" if value else b"\x00") for value in values]


def _pack_objects(values: Sequence[Any]) -> Cells:
    if None in values:  # null of SQL, not of JSON
        raise TypeError
    return [encode_cell(b"\x01" + _JSON.encode(value).encode()) for value in values]


def _pack_lists(type_: int, pack: Callable[[Sequence[Any]], Cells], values: Sequence[Any]) -> Cells:
    _require_types(values, list)
    flat = list(chain.from_iterable(values))
    cells = iter(pack(flat) if flat else ())
    return [encode_cell(encode_array(type_, list(islice(cells, len(value))))) for value in values]


_REAL = Struct(">if").pack
# By type oid.
_PACKERS: dict[int, Callable[[Sequence[Any]], Cells]] = {
    16: _pack_booleans,
    OF_BIGINT: partial(_pack_integers, "q"),
    21: partial(_pack_integers, "h"),
    23: partial(_pack_integers, "i"),
    OF_TEXT: _pack_texts,
    700: _pack_reals,
    1009: partial(_pack_lists, OF_TEXT, _pack_texts),
    1016: partial(_pack_lists, OF_BIGINT, partial(_pack_integers, "q")),
    1184: _pack_times,
    OF_UUID: _pack_uuids,
    2951: partial(_pack_lists, OF_UUID, _pack_uuids),
    3802: _pack_objects,
}
