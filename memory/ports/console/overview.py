"""The port of the first page of the console."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Protocol

from muniment.memory.domain.console.overview import CountChange, DayActivity, SpaceFigures
from muniment.memory.domain.scope import Reader, Scope


class OverviewReads(Protocol):
    """Counts of a space for the first page of the console."""

    async def list_count_changes(self, reader: Reader, since: date) -> Sequence[CountChange]:
        """Return how many memories got into a category and state and out of it, oldest day first, as far as the reader
        may read them; what was before `since` counts as of that day, so that the sums are what there is."""
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
