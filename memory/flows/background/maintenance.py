"""Maintenance of spaces, and its schedule."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol, TypeAlias

from muniment.memory.config.schema import Ledger
from muniment.memory.config.settings import Settings
from muniment.memory.domain.consolidation import Run
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.jobs import JobName
from muniment.memory.domain.maintenance import DueMemories, LedgerCounts, MaintenanceResult, RetentionTerms
from muniment.memory.domain.plan import Change, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import Busy, Conflict, ModelError, NotFound, StoreError
from muniment.memory.flows.consolidation.batch_collect import BatchCollection
from muniment.memory.flows.consolidation.consolidate import Consolidation
from muniment.memory.flows.layers.projections import Projections
from muniment.memory.flows.layers.session_keeper import SessionKeeper
from muniment.memory.flows.process_state import WriteBehind
from muniment.memory.flows.writing.consent import Consents
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.items import ItemStore
from muniment.memory.ports.operation.erasure import ErasureStore
from muniment.memory.ports.operation.maintenance import MaintenanceStore
from muniment.memory.rules.policy import retention
from muniment.memory.rules.policy.schedule import find_slot_start

_log = logging.getLogger(__name__)
_BATCH = 200  # memories of one plan
_CLOCK_CHECK_SECONDS = 60.0  # how late a clock that was set is noticed
_RETRY_SECONDS = 5.0
_INDEX_SECONDS = 600.0  # how late a space that has grown gets its indexes; a look reads one row of each space
_IDLE_PART = 10.0  # seconds between looks at sessions, for each minute after which they end
Enqueue: TypeAlias = Callable[[], Awaitable[None]]


class SlotStore(Protocol):
    """The part of a store that enqueues a periodic job once per slot."""

    async def enqueue_periodic(self, name: JobName, at: datetime) -> bool:
        """Enqueue the job for the slot that begins at `at`; return whether this call did. Raises StoreError."""
        ...


class Schedule:
    """Enqueues the job `round` once in every slot of `cleanup_interval_seconds`, however many processes do."""

    def __init__(self, store: SlotStore, clock: Clock, find_rules: Callable[[], Ledger]) -> None:
        self._store, self._clock, self._find_rules = store, clock, find_rules
        self._last_slot: datetime | None = None if find_rules().run_on_startup else self._find_slot()

    @property
    def _every(self) -> timedelta:
        return timedelta(seconds=self._find_rules().cleanup_interval_seconds)

    async def request_round(self) -> None:
        """Enqueue the job of the current slot, unless that was done. Raises StoreError."""
        slot = self._find_slot()
        if slot != self._last_slot:
            await self._store.enqueue_periodic("round", slot)
            self._last_slot = slot

    async def run(self) -> None:
        """Enqueue the job of every slot from now on. A database that is down is tried again."""
        while True:
            try:
                await self.request_round()
                left = (self._find_slot() + self._every - self._clock.now()).total_seconds()
            except StoreError as error:
                _log.warning("no round: %s", type(error).__name__)
                left = _RETRY_SECONDS
            await asyncio.sleep(min(_CLOCK_CHECK_SECONDS, max(left, 0.01)))

    def _find_slot(self) -> datetime:
        return find_slot_start(self._clock.now(), self._every)


class PeriodicEnqueueing:
    """Enqueues jobs of spaces at the start of a worker and then periodically: however many workers do so, a space has
    one such job at a time."""

    def __init__(self, enqueue: Enqueue, period: float) -> None:
        self._enqueue, self._period = enqueue, period

    async def request_round(self) -> None:
        """Enqueue the jobs of now. Raises StoreError."""
        await self._enqueue()

    async def run(self) -> None:
        """Enqueue the jobs of every period from now on."""
        while True:
            await asyncio.sleep(self._period)
            try:
                await self.request_round()
            except StoreError as error:  # the next period will do
                _log.warning("no look at spaces: %s", type(error).__name__)


def list_enqueueings(
    enqueue_overgrown: Enqueue, enqueue_idle: Enqueue, ledger: Ledger
) -> tuple[PeriodicEnqueueing, PeriodicEnqueueing]:
    """Return what enqueues the indexing of spaces that have grown or shrunk, and the end of sessions."""
    return (
        PeriodicEnqueueing(enqueue_overgrown, _INDEX_SECONDS),
        PeriodicEnqueueing(enqueue_idle, ledger.idle_minutes * _IDLE_PART),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Maintenance:
    """Finds the spaces that are due; forgets, purges, cleans the ledger and consolidates there."""

    batch_collection: BatchCollection
    clock: Clock
    consents: Consents
    consolidation: Consolidation
    erasure: ErasureStore
    item_store: ItemStore
    maintenance: MaintenanceStore
    projections: Projections
    retention: RetentionTerms
    session_keeper: SessionKeeper
    settings: Settings
    write_behind: WriteBehind

    async def enqueue_due(self) -> int | None:
        """Enqueue a job `tend` for every space that is due. Returns how many; None while another process does."""
        every = timedelta(hours=self.settings.consolidation.every_hours)
        spread = timedelta(seconds=self.settings.session_ledger.cleanup_interval_seconds)
        return await self.maintenance.enqueue_due_spaces(self.clock.now(), every, spread, self.retention)

    async def maintain_space(self, scope: Scope) -> MaintenanceResult:
        """Maintain the space. Every step can be repeated: what is done is not due any more.

        Raises NotFound, Busy while another run is under way, Conflict, StoreError."""
        await self.write_behind.flush(scope)  # what was retrieved here counts before anything is forgotten
        with suppress(ModelError):  # a job of its own tries it again
            await self.session_keeper.end_idle(scope)
        now, terms = self.clock.now(), self.retention
        due, forgotten = await self._forget_all(scope, now)
        due, purged = await self._purge_all(scope, due, now)
        turns = await self._delete_expired(scope, now)
        await self.item_store.delete_expired(scope, now)
        await self.projections.refresh_lagging(scope)
        run, checked_rev = await self._consolidate_changed(scope, due, forgotten + purged)
        if run is not None:
            due = await self._find_due(scope, now)
        await self.maintenance.record_maintenance(scope, checked_rev, now, due.next_due_at, terms)
        return MaintenanceResult(forgotten=forgotten, purged=purged, turns=turns, run=run)

    async def clean_ledger(self, scope: Scope, *, dry: bool) -> LedgerCounts:
        """Count what is past its days in the ledger of a space, and remove it unless `dry`."""
        now = self.clock.now()
        counts = await self.maintenance.count_expired(scope, now, turns_before=now - self.retention.turns)
        if not dry:
            await self._delete_expired(scope, now)
        return counts

    async def _delete_expired(self, scope: Scope, now: datetime) -> int:
        terms = self.retention
        checked = max(terms.events, timedelta(days=self.settings.consolidation.fingerprint_days))
        return await self.maintenance.delete_expired(
            scope,
            now,
            turns_before=now - terms.turns,
            events_before=now - terms.events,
            checked_before=now - checked,
        )

    async def _consolidate_changed(
        self, scope: Scope, due: DueMemories, own_changes: int
    ) -> tuple[Run | None, Revision | None]:
        """Consolidate the space, if it has changed other than by `own_changes` of this maintenance. Returns the run,
        and the revision up to which the space is compared, None when the run did not reach the end.

        Raises Busy while another run is under way: its process may have died, and the job is tried again."""
        if due.rev - own_changes == due.maintained_rev or not self.settings.consolidation.per_day:
            return None, due.rev
        run = await self.consolidation.consolidate_space(scope)
        if run is None and await self.batch_collection.abandon_overdue(scope):
            run = await self.consolidation.consolidate_space(scope)
        if run is None:
            last = await self.consolidation.find_last_run(scope)
            if last is not None and last.ended_at is None and last.status != "waiting":
                raise Busy("another run of the space is under way")
        return run, run.surveyed if run is not None and run.status == "done" else None

    async def _forget_all(self, scope: Scope, now: datetime) -> tuple[DueMemories, int]:
        """Forget all that is due. Returns what else is due then, and how many memories were forgotten."""
        forgotten, attempt = 0, 0
        while (due := await self._find_due(scope, now)).forget:
            try:
                count = await self._forget_due(scope, due, now)
            except Conflict:
                attempt += 1
                if attempt == self.settings.write.attempts:
                    raise
                continue
            if not count:
                break  # the query and the rule disagree, and would again
            forgotten += count
        return due, forgotten

    async def _purge_all(self, scope: Scope, due: DueMemories, now: datetime) -> tuple[DueMemories, int]:
        purged = 0
        while due.purge:
            count = (await self.erasure.purge_memories(scope, due.purge, now)).counts.get("memories", 0)
            due = await self._find_due(scope, now)
            if not count:
                break  # restored at this moment
            purged += count
        return due, purged

    async def _find_due(self, scope: Scope, now: datetime) -> DueMemories:
        due = await self.maintenance.find_due(scope, now, self.retention, _BATCH)
        if due is None:
            raise NotFound("there is no such space")
        return due

    async def _forget_due(self, scope: Scope, due: DueMemories, now: datetime) -> int:
        """Soft-delete what is due in one plan, and return how many. Raises Conflict when one was retrieved
        meanwhile."""
        purge_at = now + timedelta(days=self.settings.write.soft_delete_days)
        changes = tuple(
            Change(
                action="TTL",
                before=memory,
                after=replace(memory, state="soft_deleted", purge_at=purge_at, updated_at=now),
                meta=retention.describe_reason(memory, now),
            )
            for memory in due.forget
            if retention.is_forgettable(scope, memory, self.retention, now)
        )
        if not changes:
            return 0
        plan = WritePlan(
            scope=scope, expected_rev=due.rev, node="worker", at=now, changes=changes, conflicts_on_access=True
        )
        return len((await self.consents.commit_plan(plan)).changes)
