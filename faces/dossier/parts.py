"""The rows of a dossier, taken part by part in the order in which they come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from muniment.memory.domain.layers.person import PersonRow


class Parts:
    """Rows of one moment, of which nothing is held but the next."""

    def __init__(self, rows: AsyncIterator[PersonRow]) -> None:
        self._rows = rows
        self._next: PersonRow | None = None

    async def take_rows(self, part: str) -> AsyncIterator[dict[str, Any]]:
        """Yield the rows of a part, none where another one comes first."""
        while True:
            if self._next is None:
                self._next = await anext(self._rows, None)
            if self._next is None or self._next.part != part:
                return
            row, self._next = self._next.row, None
            yield row

    async def take_person(self) -> dict[str, Any]:
        """Return the first row: whose dossier it is, and the settings that say who reads and how long."""
        return await anext(self.take_rows("person"))
