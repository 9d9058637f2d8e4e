"""The rows of a dossier, taken part by part in the order in which they come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from muniment.memory.domain.layers.person import DOSSIER_PARTS, PersonRow

THREADS = "threads"  # the part of what no table of the memory has: the last states of threads
ALL_PARTS = (*DOSSIER_PARTS, THREADS)


class Parts:
    """Rows of one moment, of which nothing is held but the next."""

    def __init__(self, rows: AsyncIterator[PersonRow]) -> None:
        self._rows = rows
        self._next: PersonRow | None = None

    async def has_rows(self, part: str) -> bool:
        """Whether the next row is one of a part."""
        if self._next is None:
            self._next = await anext(self._rows, None)
        return self._next is not None and self._next.part == part

    async def take_rows(self, part: str) -> AsyncIterator[dict[str, Any]]:
        """Yield the rows of a part, none where another one comes first."""
        while await self.has_rows(part) and self._next is not None:
            row, self._next = self._next.row, None
            yield row

    async def take_person(self) -> dict[str, Any]:
        """Return the first row: whose dossier it is, and the settings that say who reads and how long."""
        return await anext(self.take_rows("person"))
