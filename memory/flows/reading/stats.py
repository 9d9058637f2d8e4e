"""Statistics: what was done in a space, what it cost, and its status."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, timedelta
from typing import Any

from muniment.memory.config.settings import Settings
from muniment.memory.domain.maintenance import RetentionTerms
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import SpaceActivity, UsageReport
from muniment.memory.errors import BadInput
from muniment.memory.flows.process_state import WriteBehind
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.ports.usage import UsageStore
from muniment.memory.rules.policy.retention import hash_terms


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Statistics:
    """Counts events, spending and spaces, and reads the status of a space."""

    clock: Clock
    reads: MemoryReads
    retention: RetentionTerms
    settings: Settings
    usage: UsageStore
    write_behind: WriteBehind

    async def get_activity(self, scope: Scope, days: int, changes: int) -> SpaceActivity:
        """Return the event counts of the last `days` days (UTC) and the latest `changes`. Raises BadInput."""
        since = self._find_first_day(days)
        await self.write_behind.flush(scope)
        return await self.usage.read_activity(self.settings.make_owner_reader(scope), since, changes)

    async def get_usage(self, scope: Scope, days: int) -> UsageReport:
        """Return the spending of the scope's tenant in the last `days` days (UTC). Raises BadInput."""
        since = self._find_first_day(days)
        await self.write_behind.flush_settlements(scope)
        return await self.usage.read_usage(scope, since)

    async def list_spaces(self, tenant: str | None) -> list[Scope]:
        """Return the scopes of all spaces, or of a tenant's, oldest first."""
        return [scope async for scope in self.reads.list_spaces() if tenant in (None, scope.tenant)]

    def _find_first_day(self, days: int) -> date:
        today = self.clock.now().astimezone(UTC).date()
        if not 1 <= days <= (today - date.min).days:
            raise BadInput("days: at least 1, and no more than there have been")
        return today - timedelta(days=days - 1)

    async def read_status(self, scope: Scope) -> dict[str, Any]:
        """Return counts, revision, embedder and database of the space, with its owner and when it was and will be
        maintained."""
        status = await self.reads.read_status(scope)
        checked_rev, last, due, terms = (
            status.pop(name, None) for name in ("tended_rev", "tended_at", "tend_at", "tend_terms")
        )
        every = timedelta(hours=self.settings.consolidation.every_hours)
        changed = () if checked_rev == status["rev"] else (last + every if last else self.clock.now(),)
        outdated = (self.clock.now(),) if terms != hash_terms(self.retention) else ()
        moments = [*filter(None, [due]), *changed, *outdated]
        upcoming = min(moments, default=None) if checked_rev is not None else None
        maintained = {
            name: at and at.isoformat(timespec="seconds") for name, at in (("tended", last), ("tended_next", upcoming))
        }
        return {"user": scope.owner, "tenant": scope.tenant, "space": str(scope.space)} | status | maintained
