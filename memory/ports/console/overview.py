"""The port of the first page of the console."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Protocol

from muniment.memory.domain.console.overview import CountChange, DayActivity, MemoryCount, SpaceFigures
from muniment.memory.domain.scope import Reader, Scope


class OverviewReads(Protocol):
    """Counts of a space for the first page of the console."""

    async def count_memories(self, reader: Reader) -> Sequence[MemoryCount]:
        """Return how many memories there are by category and state, as far as the reader may read them."""
        ...

    async def list_count_changes(self, reader: Reader, since: date) -> Sequence[CountChange]:
        """Return how these counts came about, oldest day first; what was before `since` counts as of that day."""
        ...

    async def list_days(self, scope: Scope, since: date) -> Sequence[DayActivity]:
        """Return what went on in the space on each day since one, oldest first; a day without anything is left out."""
        ...

    async def read_figures(self, scope: Scope) -> SpaceFigures:
        """Return the counts of the jobs of the space, and its size."""
        ...

    async def read_database_size(self) -> int:
        """Return the bytes of the whole database on disk."""
        ...
