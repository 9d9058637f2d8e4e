"""The vectors of spaces in memory: one matrix for each, brought up to date by what has changed in the file."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from muniment.plugin.stores.local.rows import SQL

if TYPE_CHECKING:
    from muniment.memory.domain.ids import Vector

_MEGABYTE = 2**20
_LEAST_ROWS = 64
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceState:
    """A space of the file, and its revisions in the snapshot that is read."""

    space: int
    revision: int
    removed: int
    compared: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """Which rows count: at these places, of these types, if any are named, and not expired at a time."""

    places: tuple[str, ...]
    types: tuple[str, ...]
    at: int


def encode_vector(vector: Vector) -> bytes:
    """Return a vector as half floats, which take half the file and lose nothing that a ranking sees."""
    return np.asarray(vector, dtype="<f2").tobytes()


def decode_vector(data: bytes) -> Vector:
    """Return the vector of half floats."""
    return np.frombuffer(data, dtype="<f2").astype(np.float32)


class VectorCache:
    """Holds the matrices of the spaces that were searched last, within a bound of memory."""

    def __init__(self, max_megabytes: float) -> None:
        self._max_bytes = max_megabytes * _MEGABYTE
        self._matrices: OrderedDict[tuple[int, str], _Matrix] = OrderedDict()
        self._lock = Lock()

    def drop_all(self) -> None:
        """Drop everything, after the file was replaced."""
        with self._lock:
            self._matrices.clear()

    def refresh_space(self, connection: sqlite3.Connection, state: SpaceState, model: str) -> None:
        """Bring the matrix of a space up to date."""
        with self._lock:
            self._refresh(connection, state, model)

    def compare_space(
        self,
        connection: sqlite3.Connection,
        state: SpaceState,
        model: str,
        vector: Vector,
        rows: Sequence[int] = (),
    ) -> Comparison | None:
        """Return the cosines of a vector with all of a space by a model, as of the connection's snapshot, and those of
        these rows by their numbers; None where the space has no vector of the model."""
        with self._lock:
            matrix = self._refresh(connection, state, model)
            size = len(matrix.rows)
            if not size or matrix.vectors.shape[1] != len(vector):
                return None
            cosines = matrix.vectors[:size] @ np.asarray(vector, dtype=np.float32)
            return Comparison(
                cosines=cosines,
                of_rows={n: float(cosines[matrix.at_row[n]]) for n in rows if n in matrix.at_row},
                rows=matrix.row_array,
                places=matrix.places[:size].copy(),
                expires=matrix.expires[:size].copy(),
                types=matrix.types[:size].copy(),
                numbers=matrix.numbers,
            )

    def _refresh(self, connection: sqlite3.Connection, state: SpaceState, model: str) -> _Matrix:
        key = state.space, model
        matrix = self._matrices.get(key)
        # Rows that were removed are in no list of changes. An older snapshot is read anew, too: it is rare.
        if matrix is None or matrix.revision < state.removed or matrix.revision > state.revision:
            matrix = self._matrices[key] = _Matrix()
        self._matrices.move_to_end(key)
        if matrix.revision < state.revision:
            values = {"space": state.space, "since": matrix.revision, "model": model}
            matrix.apply_rows(connection.execute(SQL["list_changed_vectors"], values).fetchall())
            matrix.revision = state.revision
            self._evict()
        return matrix

    def _evict(self) -> None:
        """Drop the spaces that were searched longest ago, never the one that is searched."""
        while (
            len(self._matrices) > 1 and sum(each.vectors.nbytes for each in self._matrices.values()) > self._max_bytes
        ):
            self._matrices.popitem(last=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The cosines of a vector with the rows of a space."""

    cosines: npt.NDArray[np.float32]
    of_rows: dict[int, float]
    rows: npt.NDArray[np.int64]
    places: npt.NDArray[np.int32]
    expires: npt.NDArray[np.int64]
    types: npt.NDArray[np.int32]
    numbers: dict[str, int]

    def list_closest(self, rows: RowFilter, most: int, least: float = -1.0) -> list[tuple[int, float]]:
        """Return the closest rows that count, with their cosines, best first."""
        wanted = np.isin(self.places, self._get_numbers(rows.places)) & (self.expires > rows.at)
        if rows.types:
            wanted &= np.isin(self.types, self._get_numbers(rows.types))
        cosines = np.where(wanted & (self.cosines >= least), self.cosines, np.float32(-2))
        best = np.argpartition(-cosines, most)[:most] if len(cosines) > most else np.arange(len(cosines))
        best = best[np.argsort(-cosines[best], kind="stable")]
        return [(int(self.rows[at]), float(cosines[at])) for at in best if cosines[at] >= -1.5]

    def _get_numbers(self, names: tuple[str, ...]) -> list[int]:
        return [self.numbers[name] for name in names if name in self.numbers]


@dataclass(slots=True)
class _Matrix:
    """The vectors of a space. A row of the arrays is that of the item with its number; those beyond are free."""

    revision: int = 0
    rows: list[int] = field(default_factory=list)
    row_array: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    at_row: dict[int, int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)  # of places and types
    vectors: Vector = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))
    places: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    types: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    expires: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def apply_rows(self, changed: Sequence[tuple[Any, ...]]) -> None:
        """Add, replace and remove rows as the file has them."""
        self._reserve(len(self.rows) + len(changed), next((len(row[5]) // 2 for row in changed if row[5]), 0))
        for n, type_, place, expires, forgotten, data in changed:
            if data is None or forgotten is not None or len(data) != 2 * self.vectors.shape[1]:
                self._remove(n)
                continue
            at = self.at_row.setdefault(n, len(self.rows))
            if at == len(self.rows):
                self.rows.append(n)
            self.vectors[at] = np.frombuffer(data, dtype="<f2")
            self.places[at] = self.numbers.setdefault(place, len(self.numbers))
            self.types[at] = self.numbers.setdefault(type_, len(self.numbers))
            self.expires[at] = _NEVER if expires is None else expires
        self.row_array = np.array(self.rows, dtype=np.int64)

    def _remove(self, n: int) -> None:
        """Remove a row, if it is there; the last one takes its place."""
        if (at := self.at_row.pop(n, None)) is None:
            return
        last = self.rows.pop()
        if last != n:
            end = len(self.rows)
            self.rows[at], self.at_row[last] = last, at
            for each in (self.vectors, self.places, self.types, self.expires):
                each[at] = each[end]

    def _reserve(self, size: int, dimensions: int) -> None:
        dimensions = self.vectors.shape[1] or dimensions
        if size <= len(self.vectors) and dimensions == self.vectors.shape[1]:
            return
        room = max(_LEAST_ROWS, size + size // 4)
        there = len(self.rows)
        vectors = np.zeros((room, dimensions), dtype=np.float32)
        if there:
            vectors[:there] = self.vectors[:there]
        self.vectors = vectors
        self.places = _extend(self.places, there, room)
        self.types = _extend(self.types, there, room)
        self.expires = _extend(self.expires, there, room)


def _extend(values: npt.NDArray[Any], there: int, room: int) -> npt.NDArray[Any]:
    result = np.zeros(room, dtype=values.dtype)
    result[:there] = values[:there]
    return result
