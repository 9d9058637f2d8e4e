"""The maintenance port: what is due, what is expired, missing vectors, and the indexes of large spaces."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from muniment.memory.domain.embedding import UnembeddedRow
from muniment.memory.domain.ids import Revision, Vector
from muniment.memory.domain.jobs import JobName
from muniment.memory.domain.maintenance import DueMemories, IndexingResult, LedgerCounts, RetentionTerms
from muniment.memory.domain.scope import Scope


class MaintenanceStore(Protocol):
    """What is due in one space and in all, and the upkeep of their indexes."""

    async def find_due(self, scope: Scope, now: datetime, terms: RetentionTerms, limit: int) -> DueMemories | None:
        """Return what is due now, at most `limit` memories to forget and to purge; None when the space does not
        exist."""
        ...

    async def record_maintenance(
        self,
        scope: Scope,
        checked_rev: Revision | None,
        at: datetime,
        next_due_at: datetime | None,
        terms: RetentionTerms,
    ) -> None:
        """Note that the space was maintained at `at`, and when it is due next: `next_due_at`, or when a row of its
        ledger expires before that.

        `checked_rev` is the revision that was checked, None when the check did not reach the end. Changes by a
        consolidation count as checked; the first other change after it makes the space due again."""
        ...

    async def count_expired(self, scope: Scope, now: datetime, *, turns_before: datetime) -> LedgerCounts:
        """Count the turns, and the sessions with none but such, that `delete_expired` would remove."""
        ...

    async def enqueue_due_spaces(
        self, now: datetime, every: timedelta, spread: timedelta, terms: RetentionTerms
    ) -> int | None:
        """Enqueue a `tend` job for every space that is due, each tenant at its own time within `spread`; return how
        many.

        A changed space is due once in `every`, one that was maintained under other terms at once. Returns None while
        another process does the same."""
        ...

    async def enqueue_periodic(self, name: JobName, at: datetime) -> bool:
        """Enqueue a job of no space once for each slot, which `at` names; return whether this call did."""
        ...

    async def delete_expired(
        self, scope: Scope, now: datetime, *, turns_before: datetime, events_before: datetime, checked_before: datetime
    ) -> int:
        """Remove turns, events, extraction records, pair fingerprints and records of runs without a change that are
        older than these times, but no turn that a job needs, and requests that are not sent again any more; and
        observations, decisions on pairs and projections of memories that are gone. Returns how many turns were
        removed."""
        ...

    async def list_unembedded(self, scope: Scope, limit: int) -> list[UnembeddedRow]:
        """Return memories and former versions that were written without a vector, by id."""
        ...

    async def write_vectors(self, scope: Scope, pairs: Sequence[tuple[UnembeddedRow, Vector]]) -> None:
        """Write the vectors of such rows. One whose text has changed stays as it is. This is no change of the space.

        Raises WrongEmbedder."""
        ...

    async def index_space(self, scope: Scope, min_memories: int, *, force: bool = False) -> IndexingResult:
        """Build the indexes of a space with at least `min_memories` active memories; drop those of a smaller one.

        Existing ones are built anew after many changes, with `force` after any. Raises Conflict while another process
        builds one or a switch of the embedder is under way."""
        ...

    async def unindex_space(self, scope: Scope) -> IndexingResult:
        """Drop the indexes of a space: it is searched as a small one."""
        ...

    async def find_spaces_to_index(self, min_memories: int) -> list[Scope]:
        """Return the spaces whose indexes may have to be built, rebuilt or dropped. For maintenance only."""
        ...
