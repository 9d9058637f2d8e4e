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


@dataclass(frozen=True, slots=True, kw_only=True)
class NearQuery:
    """A vector, and which of the rows that are near to it are wanted: at most so many, with at least this cosine.

    The cosines of the rows in `also` are given, too, however far they are."""

    vector: Vector
    rows: RowFilter
    most: int
    least: float = -1.0
    also: Sequence[int] = ()


def encode_vector(vector: Vector) -> bytes:
    """Return a vector as half floats, which take half the file and lose nothing that a ranking sees."""
    return np.asarray(vector, dtype="<f2").tobytes()


def decode_vector(data: bytes) -> Vector:
    """Return the vector of half floats."""
    return np.frombuffer(data, dtype="<f2").astype(np.float32)


def _multiply(vectors: Vector, asked: Vector) -> Vector:
    """Return the products of each vector that is asked for with all of these, a row for each.

    For one vector numpy's own loop takes a millisecond for 10,000. BLAS is faster, but its threads go on spinning for
    some 20 ms behind each call: the turn that follows would wait for a core. Several vectors, which are compared behind
    a reply, share its reading of the memory."""
    if len(asked) == 1:
        product: Vector = np.einsum("ij,j->i", vectors, asked[0])
        return product[None]
    return np.asarray(asked @ vectors.T, dtype=np.float32)


class VectorCache:
    """Holds the matrices of the spaces that were searched last, within a bound of memory."""

    def __init__(self, max_megabytes: float) -> None:
        self._max_bytes = max_megabytes * _MEGABYTE
        self._matrices: OrderedDict[tuple[int, str], VectorMatrix] = OrderedDict()
        self._lock = Lock()

    def drop_all(self) -> None:
        """Drop everything, after the file was replaced."""
        with self._lock:
            self._matrices.clear()

    def refresh_space(self, connection: sqlite3.Connection, state: SpaceState, model: str) -> None:
        """Bring the matrix of a space up to date."""
        with self._lock:
            self._refresh(connection, state, model)

    def find_near(
        self, connection: sqlite3.Connection, state: SpaceState, model: str, queries: Sequence[NearQuery]
    ) -> list[dict[int, float]]:
        """Return for each query the cosines of the rows that are near, as of the connection's snapshot, by their
        numbers: the closest first."""
        with self._lock:  # the arrays are read where they are: a copy would take as long as the product
            return self._refresh(connection, state, model).find_near(queries)

    def _refresh(self, connection: sqlite3.Connection, state: SpaceState, model: str) -> VectorMatrix:
        key = state.space, model
        matrix = self._matrices.get(key)
        # Rows that were removed are in no list of changes. An older snapshot is read anew, too: it is rare.
        if matrix is None or matrix.revision < state.removed or matrix.revision > state.revision:
            matrix = self._matrices[key] = VectorMatrix()
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


@dataclass(slots=True)
class VectorMatrix:
    """The vectors of a space. A row of the arrays is that of the item with its number; those beyond are free."""

    revision: int = 0
    at_row: dict[int, int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)  # of places and types
    vectors: Vector = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))
    rows: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    places: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    types: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    expires: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def apply_rows(self, changed: Sequence[tuple[Any, ...]]) -> None:
        """Add, replace and remove rows as the file has them."""
        self._reserve(len(self.at_row) + len(changed), next((len(row[5]) // 2 for row in changed if row[5]), 0))
        for n, type_, place, expires, forgotten, data in changed:
            if data is None or forgotten is not None or len(data) != 2 * self.vectors.shape[1]:
                self.remove_row(n)
            else:
                self._set_row(n, type_, place, expires, decode_vector(data))

    def put_row(self, n: int, type_: str, place: str, expires: int | None, vector: Vector) -> None:
        """Add or replace a row. A vector of another length than the first is left out."""
        self._reserve(len(self.at_row) + 1, len(vector))
        if len(vector) == self.vectors.shape[1]:
            self._set_row(n, type_, place, expires, vector)
        else:
            self.remove_row(n)

    def remove_row(self, n: int) -> None:
        """Remove a row, if it is there; the last one takes its place."""
        if (at := self.at_row.pop(n, None)) is None:
            return
        end = len(self.at_row)
        if at != end:
            for each in (self.vectors, self.rows, self.places, self.types, self.expires):
                each[at] = each[end]
            self.at_row[int(self.rows[at])] = at

    def find_near(self, queries: Sequence[NearQuery]) -> list[dict[int, float]]:
        """Return for each query the cosines of the rows that are near, the closest first."""
        size = len(self.at_row)
        fitting = [at for at, query in enumerate(queries) if len(query.vector) == self.vectors.shape[1]]
        results = [dict[int, float]() for _ in queries]
        if size and fitting:
            asked = np.array([queries[at].vector for at in fitting], dtype=np.float32)
            cosines = _multiply(self.vectors[:size], asked)
            for at, row in zip(fitting, cosines, strict=True):
                results[at] = self._choose_rows(queries[at], row)
        return results

    def _choose_rows(self, query: NearQuery, cosines: npt.NDArray[np.float32]) -> dict[int, float]:
        near = np.flatnonzero(cosines >= query.least)
        near = near[self._count_in(query.rows, near)]
        values = cosines[near]
        if len(near) > query.most:
            best = np.argpartition(values, len(values) - query.most)[-query.most :]
            near, values = near[best], values[best]
        order = np.argsort(-values, kind="stable")
        found = dict(zip(self.rows[near[order]].tolist(), values[order].tolist(), strict=True))
        return found | {n: float(cosines[self.at_row[n]]) for n in query.also if n in self.at_row}

    def _count_in(self, rows: RowFilter, near: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """Return which of these rows count."""
        counted: npt.NDArray[np.bool_] = self.expires[near] > rows.at
        for names, values in ((rows.places, self.places), (rows.types, self.types)):
            if names:
                counted &= np.isin(values[near], [self.numbers[name] for name in names if name in self.numbers])
        return counted

    def _set_row(self, n: int, type_: str, place: str, expires: int | None, vector: Vector) -> None:
        at = self.at_row.setdefault(n, len(self.at_row))
        self.rows[at], self.vectors[at] = n, vector
        self.places[at] = self.numbers.setdefault(place, len(self.numbers))
        self.types[at] = self.numbers.setdefault(type_, len(self.numbers))
        self.expires[at] = _NEVER if expires is None else expires

    def _reserve(self, size: int, dimensions: int) -> None:
        dimensions = self.vectors.shape[1] or dimensions
        if size <= len(self.vectors) and dimensions == self.vectors.shape[1]:
            return
        room = max(_LEAST_ROWS, size + size // 4)
        there = len(self.at_row)
        vectors = np.zeros((room, dimensions), dtype=np.float32)
        if there:
            vectors[:there] = self.vectors[:there]
        self.vectors = vectors
        self.rows = _extend(self.rows, there, room)
        self.places = _extend(self.places, there, room)
        self.types = _extend(self.types, there, room)
        self.expires = _extend(self.expires, there, room)


def _extend(values: npt.NDArray[Any], there: int, room: int) -> npt.NDArray[Any]:
    result = np.zeros(room, dtype=values.dtype)
    result[:there] = values[:there]
    return result
