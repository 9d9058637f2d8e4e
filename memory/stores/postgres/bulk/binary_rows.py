"""Cells, rows and arrays of rows in the binary format of Postgres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain
from struct import Struct, pack
from typing import Any

from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format

from muniment.memory.stores.postgres.connection.pool import Connection

SIZE = Struct(">i").pack
NULL, UUID_SIZE, TIME_SIZE = SIZE(-1), SIZE(16), SIZE(8)  # the size that stands before a cell
OF_TEXT, OF_UUID, OF_BIGINT = 25, 2950, 20  # type oids, the same in every database
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_LONG = Struct(">q").pack


@dataclass(frozen=True, slots=True)
class RowType:
    """A table's row type: the places and types of its columns, and the bytes before each of them."""

    array: bytes  # the bytes before the rows of an array, without its length
    places: dict[str, int]
    types: dict[str, int]
    heads: tuple[bytes, ...]
    nulls: tuple[bytes, ...]

    @classmethod
    def from_catalogue(cls, columns: Sequence[Mapping[str, Any]]) -> RowType:
        """Return the row type of columns of the catalogue: `name` and `type` of each, and the `row` type of all."""
        heads = tuple(pack(">I", column["type"]) for column in columns)
        return cls(
            array=pack(">iiI", 1, 0, columns[0]["row"]),
            places={column["name"]: n for n, column in enumerate(columns, 1)},
            types={column["name"]: column["type"] for column in columns},
            heads=(b"", *heads),
            nulls=(SIZE(len(columns)), *(head + b"\xff\xff\xff\xff" for head in heads)),
        )

    def build_frame(self, values: Mapping[str, bytes], own: Sequence[str]) -> tuple[bytes, ...]:
        """Return a row without the cells of its `own` columns, named in order: the bytes before each, and the rest."""
        cells, places = self._build_cells(values), [self.places[name] for name in own]
        starts = [0, *(place + 1 for place in places)]
        before = [
            b"".join(cells[start:place]) + self.heads[place] for start, place in zip(starts, places, strict=False)
        ]
        return (*before, b"".join(cells[starts[-1] :]))

    def _build_cells(self, values: Mapping[str, bytes]) -> list[bytes]:
        cells = list(self.nulls)
        for name, value in values.items():
            place = self.places[name]
            cells[place] = self.heads[place] + encode_cell(value)
        return cells

    def pack_rows(self, rows: Sequence[bytes]) -> PackedRows:
        """Return rows as one parameter."""
        return PackedRows(self.array + pack(">ii", len(rows), 1) + b"".join(rows))


@dataclass(frozen=True, slots=True)
class PackedRows:
    """An encoded array of rows."""

    packed: bytes


class _PackedRowsDumper(Dumper):
    """Passes encoded rows on to the driver."""

    format = Format.BINARY

    def dump(self, obj: PackedRows) -> Buffer | None:
        return obj.packed


def open_cursor(conn: Connection) -> Any:
    """Return a cursor that takes PackedRows as parameters."""
    cursor = conn.cursor()
    cursor.adapters.register_dumper(PackedRows, _PackedRowsDumper)
    return cursor


def fill_frame(frame: Sequence[bytes], own: Sequence[bytes]) -> bytes:
    """Return a row of a frame and its own cells, with its length."""
    row = b"".join(chain.from_iterable(zip(frame, own, strict=False))) + frame[-1]
    return SIZE(len(row)) + row


def encode_cell(value: bytes) -> bytes:
    """Return a cell with its size."""
    return SIZE(len(value)) + value


@lru_cache(maxsize=1_024)
def encode_time(value: datetime) -> bytes:
    """Return the cell of a time; one without a zone is UTC."""
    since = (value if value.tzinfo else value.replace(tzinfo=UTC)) - _EPOCH
    return _LONG((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)


def encode_array(type_: int, cells: Sequence[bytes]) -> bytes:
    """Return the cell of an array of cells with their sizes."""
    if not cells:
        return pack(">iiI", 0, 0, type_)
    return pack(">iiIii", 1, 0, type_, len(cells), 1) + b"".join(cells)
