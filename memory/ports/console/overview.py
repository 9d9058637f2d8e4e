"""The port of the first page of the console."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from muniment.memory.domain.console.overview import MemoryCount
from muniment.memory.domain.scope import Reader


class OverviewReads(Protocol):
    """Counts of a space for the first page of the console."""

    async def count_memories(self, reader: Reader) -> Sequence[MemoryCount]:
        """Return how many memories there are by category and state, as far as the reader may read them."""
        ...
