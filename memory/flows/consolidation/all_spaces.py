"""Consolidation of many spaces, one after another."""

from __future__ import annotations

from dataclasses import dataclass

from muniment.memory.domain.consolidation import SpaceResult
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import Conflict
from muniment.memory.flows.consolidation.consolidate import Consolidation
from muniment.memory.ports.consolidation import ConsolidationRuns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpaceSweep:
    """Consolidates many spaces. A space that another process works on does not end the sweep."""

    consolidation: Consolidation
    runs: ConsolidationRuns

    async def consolidate_next(self, scope: Scope, *, dry: bool, limit: int | None, unchanged: bool) -> SpaceResult:
        """Consolidate one of them. Without `unchanged`, one in which nothing changed since it was compared is skipped.
        Raises BadInput, StoreError."""
        if not unchanged and not (await self.runs.read_compared_revision(scope))[1]:
            return SpaceResult(scope=scope, skipped="unchanged")
        try:
            run = await self.consolidation.consolidate_space(scope, dry=dry, limit=limit)
        except Conflict:
            return SpaceResult(scope=scope, skipped="busy")
        if run is not None:
            return SpaceResult(scope=scope, run=run)
        is_waiting = await self.consolidation.find_waiting_run(scope) is not None
        return SpaceResult(scope=scope, skipped="waiting" if is_waiting else "busy")
