"""Events, settlements and access counts: buffered beside the reply and written later."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from muniment.memory.domain.maintenance import RetentionTerms
from muniment.memory.domain.query import Hit
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import OpsEvent, Settlement
from muniment.memory.flows.access_log import AccessLog
from muniment.memory.ports.usage import UsageStore

_MAX_BUFFERED = 200  # events of one scope


class WriteBehind:
    """The buffers of one process. While the database is down they keep what they hold."""

    def __init__(self, *, usage: UsageStore, access_log: AccessLog, retention: RetentionTerms) -> None:
        self._usage, self._access_log, self._retention = usage, access_log, retention
        self._events: defaultdict[Scope, list[OpsEvent]] = defaultdict(list)
        self._settlements: dict[Scope, list[Settlement]] = {}

    async def track_event(self, scope: Scope, event: OpsEvent) -> None:
        """Buffer an event; a full buffer is written."""
        events = self._events[scope.owner_scope]
        events.append(event)
        if len(events) >= _MAX_BUFFERED:
            await self._flush_events(scope)

    def record_access(self, scope: Scope, hits: Iterable[Hit]) -> None:
        """Count that these hits were retrieved now."""
        self._access_log.record_access(scope.owner_scope, [hit.memory.id for hit in hits])

    def add_settlement(self, scope: Scope, settlement: Settlement) -> None:
        """Buffer what a request to a model came to."""
        if settlement.reserved or settlement.used:
            self._settlements.setdefault(_tenant_scope(scope), []).append(settlement)

    async def flush_settlements(self, scope: Scope) -> None:
        """Write the settlements of the scope's tenant. Raises StoreError."""
        settlements = self._settlements.pop(_tenant_scope(scope), [])
        if not settlements:
            return
        try:
            await self._usage.settle(scope, settlements)
        except BaseException:
            self._settlements.setdefault(_tenant_scope(scope), [])[:0] = settlements
            raise

    async def flush(self, scope: Scope) -> None:
        """Write the settlements, events and access counts of a scope. Raises StoreError."""
        await self._flush_events(scope)
        await self._access_log.flush(scope.owner_scope)

    async def flush_all(self) -> None:
        """Write everything that is buffered. Raises StoreError."""
        for scope in [*self._events, *self._settlements]:
            await self._flush_events(scope)
        await self._access_log.close()

    def drop_space(self, scope: Scope) -> None:
        """Drop the events of a space from which something was erased."""
        self._events.pop(scope.owner_scope, None)

    async def _flush_events(self, scope: Scope) -> None:
        await self.flush_settlements(scope)
        owner = scope.owner_scope
        events = self._events.pop(owner, [])
        if not events:
            return
        try:
            await self._usage.record_events(scope, events, retention=self._retention.events)
        except BaseException:
            self._events[owner][:0] = events[-_MAX_BUFFERED:]
            raise


def _tenant_scope(scope: Scope) -> Scope:
    """The scope of the tenant alone: what its users have spent is one sum."""
    return Scope(tenant=scope.tenant, owner="")
