"""Rows of an import in a file without a name: they are checked as a whole before the first of them is written, and may
be too many to hold."""

from __future__ import annotations

import json
import tempfile
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Self, overload

from muniment.memory.errors import BadInput


class RowFile(Sequence[dict[str, Any]]):
    """A sequence of JSON objects on disk. Nothing is left of the file when the process ends, however that is."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed with this
        self._starts = array("Q", [0])  # the byte at which each row begins, and the end of the last

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add_row(self, row: Mapping[str, Any]) -> None:
        """Add a row. Raises BadInput for one that is nested too deeply."""
        try:
            line = json.dumps(row).encode()
        except RecursionError:
            raise BadInput(f"row {len(self) + 1}: is nested too deeply", row=len(self) + 1) from None
        self._file.write(line)
        self._starts.append(self._starts[-1] + len(line))

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, place: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, place: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(place, slice):
            return [self._read_row(each) for each in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        return self._read_row(place % len(self))

    def _read_row(self, place: int) -> dict[str, Any]:
        start = self._starts[place]
        self._file.seek(start)
        row: dict[str, Any] = json.loads(self._file.read(self._starts[place + 1] - start))
        return row
