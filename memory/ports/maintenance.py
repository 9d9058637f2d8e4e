"""What maintenance needs of a store."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Protocol

from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.jobs import JobName
from muniment.memory.domain.maintenance import DueMemories, RetentionTerms
from muniment.memory.domain.scope import Scope


class MaintenanceStore(Protocol):
    """The part of a store that knows what is due, in one space and in all."""

    async def find_due(self, scope: Scope, now: datetime, terms: RetentionTerms, limit: int) -> DueMemories | None:
        """What is due now, at most so many memories of each kind; None where there is no such space."""
        ...

    async def record_maintenance(
        self,
        scope: Scope,
        checked_rev: Revision | None,
        at: datetime,
        next_due_at: datetime | None,
        terms: RetentionTerms,
    ) -> None:
        """Note that the space was tended and when something in it is due next: `again`, or what of the ledger is before it.

        `seen`: the revision that was looked at, None when not to the end. What a consolidation changed counts as looked at;
        the first change of anybody else after it makes the space due again."""
        ...

    async def enqueue_due_spaces(
        self, now: datetime, every: timedelta, spread: timedelta, terms: RetentionTerms
    ) -> int | None:
        """Enqueue `tend` for every space that is due, each tenant at its own time within `spread`; how many. Those that
        have changed are due once in `every`, those that were tended by other terms at once. None while another process does
        the same."""
        ...

    async def enqueue_periodic(self, name: JobName, at: datetime) -> bool:
        """Enqueue a job of no space, once for each slot, named by its beginning, however many ask; whether this call did."""
        ...

    async def record_access(self, scope: Scope, counts: Mapping[MemoryId, int], at: datetime) -> frozenset[MemoryId]:
        """Count that memories were retrieved. Not a change; waits for no writer: those that one holds are returned."""
        ...

    async def delete_expired(
        self, scope: Scope, turns_before: datetime, events_before: datetime, checked_before: datetime
    ) -> int:
        """Remove turns, and events and looks, that are older; not those that a job still wants. How many turns. So go
        what is noted of pairs that were checked before, and the records of runs that changed nothing."""
        ...
