"""The usage port: a tenant's budget, and what goes on in a space: events, and the journal read forward."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date, timedelta
from typing import Protocol

from muniment.memory.domain.ids import Revision
from muniment.memory.domain.journal import ChangePage, SpaceChange
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.usage import Charge, LegacyReport, OpsEvent, Settlement, SpaceActivity, UsageReport


class UsageStore(Protocol):
    """Spending of tenants, and what goes on in spaces."""

    async def reserve(self, scope: Scope, day: date, charge: Charge, tokens: int | None, micros: int | None) -> bool:
        """Charge the tenant's day before a request. Returns False, and charges nothing, when the day has reached its
        budget of tokens or micros (None: no budget)."""
        ...

    async def settle(self, scope: Scope, settlements: Sequence[Settlement]) -> None:
        """Replace what was reserved of the tenant's days by what was used."""
        ...

    async def read_usage(self, scope: Scope, since: date) -> UsageReport:
        """Return what the scope's tenant spent since a day, over all its spaces."""
        ...

    async def read_activity(self, reader: Reader, since: date, changes: int) -> SpaceActivity:
        """Return the space's counts since a day and its latest `changes` journal lines."""
        ...

    async def record_events(
        self, scope: Scope, events: Sequence[OpsEvent], *, retention: timedelta | None = None
    ) -> None:
        """Write operational events, which are due for removal after `retention`.

        An event older than the erasure of its space is not written."""
        ...

    async def read_changes(self, reader: Reader, since: Revision, limit: int) -> ChangePage:
        """Return the first `limit` changes after a revision that are in the reader's categories, oldest first.

        The next page begins after the last of them, or at the space's revision where there are no more."""
        ...

    async def read_legacy(self, scope: Scope, tag: str, limit: int) -> LegacyReport:
        """Return what is left of memories with a tag that nothing newer has confirmed."""
        ...

    async def read_departures(
        self, scope: Scope, categories: Collection[str], since: Revision, until: Revision, limit: int
    ) -> list[SpaceChange]:
        """Return the first `limit` changes in (since, until] by which a memory left these categories, without it."""
        ...
