"""The caps on what is kept: changes of one turn, and of one user in a day."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.journal import Node
from muniment.memory.domain.plan import ExtractionRecord
from muniment.memory.domain.scope import Scope
from muniment.memory.flows.process_cache import ProcessCache
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.ports.llm import ChatModel
from muniment.memory.rules.merging.merge import MergeResult
from muniment.memory.rules.policy.quotas import select_most_important

_MAX_SPACES = 10_000  # whose last count is kept
COUNTED_NODES: frozenset[Node] = frozenset({"hotpath", "worker"})


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteContext:
    """A write before it is capped: who looked at which turn, at which revision, and what the person asked to keep."""

    scope: Scope
    node: Node
    rev: Revision
    at: datetime
    extracted: ExtractionRecord | None = None
    requested_texts: frozenset[str] = frozenset()  # texts


def _get_day_start(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _cap_changes(merged: MergeResult, most: int, free: Collection[MemoryId], reason: str) -> MergeResult:
    kept = select_most_important(merged.changes, most, exempt=free)
    if len(kept) == len(merged.changes):
        return merged
    gone = {change.after.id for change in merged.changes if change.before is None} - {one.after.id for one in kept}
    return replace(
        merged,
        changes=kept,
        relations=tuple(edge for edge in merged.relations if edge.a not in gone and edge.b not in gone),
        refused=merged.refused + (reason,) * (len(merged.changes) - len(kept)),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quotas:
    """The caps on what is kept: changes of one turn, and of one user in a day."""

    cache: ProcessCache
    ledger: TurnLedger
    model: ChatModel | None
    settings: Settings

    async def apply_quotas(self, write: WriteContext, merged: MergeResult) -> MergeResult:
        """What may be written of it. Changes over a cap are refused with the reason, their edges left out."""
        return await self._cap_day(write, await self._cap_turn(write, merged))

    async def _cap_turn(self, write: WriteContext, merged: MergeResult) -> MergeResult:
        """The rules' find and the model's make and change `write.per_turn` memories together, what the person asked for aside.

        Whoever looks second finds what the first has made; where there is no model, the rules' look is the only one."""
        if write.extracted is None or not merged.changes:
            return merged
        most = self.settings.write.per_turn
        made: frozenset[MemoryId] = frozenset()
        if write.extracted.source == "model" or self.model is not None:
            made = await self.ledger.find_supported(write.scope, write.extracted.turn)
        asked = {change.after.id for change in merged.changes if change.after.text in write.requested_texts}
        return _cap_changes(merged, most - len(made), made | asked, f"more than {most} a turn")

    async def _cap_day(self, write: WriteContext, merged: MergeResult) -> MergeResult:
        """A user's space changes at most `write.per_day` times a day (UTC) by itself; what a person does by hand is not counted."""
        most, wanted = self.settings.write.per_day, len(merged.changes)
        if write.node not in COUNTED_NODES or not wanted or self._estimate_changes(write) + wanted <= most:
            return merged
        day = _get_day_start(write.at)
        today = await self.ledger.count_changes(write.scope, day, sorted(COUNTED_NODES))
        if len(self.cache.daily_counts) >= _MAX_SPACES:
            self.cache.daily_counts.clear()
        self.cache.daily_counts[write.scope.space] = (day, write.rev, today)
        return _cap_changes(merged, most - today, (), f"more than {most} a day")

    def _estimate_changes(self, write: WriteContext) -> int:
        """How many changes today can have seen. A change is a revision: what was counted once today, and the revisions
        since then, are no fewer than what there was, and nobody has to count again for every write."""
        day, rev, counted = self.cache.daily_counts.get(write.scope.space, (None, 0, 0))
        return counted + write.rev - rev if day == _get_day_start(write.at) else write.rev
