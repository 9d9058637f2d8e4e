"""Restores an export into an empty space, row by row: memory does not grow with it."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Self

import numpy as np

from muniment.memory.domain.ids import Revision, Vector
from muniment.memory.domain.memory import compose_document
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.layers.person import PersonReads
from muniment.memory.ports.writes import MemoryWrites, SpaceRows
from muniment.memory.rules.redaction.redact import Redactor

_BATCH = 128  # texts that are embedded at once
_EMBEDDED = ("memory", "version")
_MEMORY_FIELDS = ("text", "context", "fact", "stable_key", "tags", "aliases", "source", "actor_id")
# The type of a row -> its fields that can hold a secret.
_TEXT_FIELDS = {
    "memory": _MEMORY_FIELDS,
    "version": _MEMORY_FIELDS,
    "journal": ("meta",),
    "turn": ("text", "path", "tags", "payload", "actor"),
    "session": ("metadata", "ended_why"),
    "consent": ("value", "old"),
    "observation": ("statement", "fact", "stable_key", "outcome"),
}
_KEPT_TEXTS = 2_048  # whose redaction is not repeated
_KEPT_CHARS = 4_000  # of such a text


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExportRestore:
    """Restores the rows of an export."""

    embedder: Embedder
    person_reads: PersonReads
    redactor: Redactor
    writes: MemoryWrites

    async def restore_rows(
        self, scope: Scope, rows: Sequence[Mapping[str, Any]], on_progress: Callable[[int], None] | None
    ) -> int:
        """Restore the rows of an export, the first of which is its space, and return the number of memories; 0 where
        the space has these rows already. `on_progress` gets numbers of texts that are embedded.

        Raises BadInput for a space that has others and for rows that are no whole space, StoreError, ModelError."""
        if await self._has_rows(scope, rows):
            return 0
        export = _ExportRows(rows, self.redactor)
        count = 0
        with _VectorFile() as vectors:
            embedded = export.read_rows(_EMBEDDED)
            while batch := await asyncio.to_thread(_take, embedded, _BATCH):
                count += sum(row["type"] == "memory" for row in batch)
                documents = [compose_document(row["text"], row.get("aliases") or ()) for row in batch]
                vectors.add_vectors(await self.embedder.embed_documents(documents))
                if on_progress:
                    on_progress(len(batch))
            await self.writes.load_space(scope, export, vectors.read_vectors())
        return count

    async def _has_rows(self, scope: Scope, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether the space has exactly these rows. Raises BadInput for one that has others."""
        expected = map(_add_type, rows)
        is_same = is_empty = True
        async with self.person_reads.open_snapshot(scope) as snapshot:
            async for present in snapshot.read_export():
                is_same = is_same and present == await asyncio.to_thread(_take, expected, len(present))
                is_empty = is_empty and all(row["type"] == "space" and not row["rev"] for row in present)
                if not (is_same or is_empty):
                    break
        if is_same and next(expected, None) is None:
            return True
        if not is_empty:
            raise BadInput(
                f"the space of {scope.owner!r} is not empty: import an export into a user that has no memories yet"
            )
        return False


class _ExportRows(SpaceRows):
    """The rows of an export without secrets, each time they are read."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], redactor: Redactor) -> None:
        self._rows, self._redactor = rows, redactor
        # A memory, its versions and its turn often have the same text.
        self._redact_short = lru_cache(maxsize=_KEPT_TEXTS)(redactor.sanitize_uncached)

    @property
    def rev(self) -> Revision:
        return Revision(self._rows[0]["rev"])

    def read_rows(self, types: Collection[str] | None = None) -> Iterator[dict[str, Any]]:
        return (self._redact_row(row) for row in map(_add_type, self._rows) if types is None or row["type"] in types)

    def _redact_row(self, row: dict[str, Any]) -> dict[str, Any]:
        changes = {}
        for key in _TEXT_FIELDS.get(row["type"], ()):
            if value := row.get(key):
                safe = self._redact_text(value) if isinstance(value, str) else self._redactor.sanitize_value(value)
                if safe != value:
                    changes[key] = safe
        return row | changes if changes else row

    def _redact_text(self, text: str) -> str:
        return self._redact_short(text) if len(text) <= _KEPT_CHARS else self._redactor.sanitize_uncached(text)


class _VectorFile:
    """The vectors of an export in a file without a name: they are made before anything is locked, and there are too
    many to hold."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed with this
        self._bytes = 0  # of one vector

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add_vectors(self, vectors: Sequence[Vector]) -> None:
        """Add vectors, all of one length."""
        for vector in vectors:
            self._bytes = self._file.write(vector.astype(np.float32).tobytes())

    def read_vectors(self) -> Iterator[Vector]:
        """Yield the vectors in their order."""
        self._file.seek(0)
        while self._bytes and (raw := self._file.read(self._bytes)):
            yield np.frombuffer(raw, dtype=np.float32)


def _take(values: Iterator[Any], most: int) -> list[Any]:
    return list(islice(values, most))


def _add_type(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with its type: one without is a memory."""
    return row if isinstance(row, dict) and "type" in row else {"type": "memory", **row}
