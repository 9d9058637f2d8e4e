"""Caps on the changes of one turn, and of one space in a day."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.journal import Node
from muniment.memory.domain.plan import ExtractionRecord
from muniment.memory.domain.scope import Scope
from muniment.memory.flows.process_state import ProcessCache
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.ports.llm import ChatModel
from muniment.memory.rules.merging.merge import MergeResult
from muniment.memory.rules.policy.quotas import select_most_important

_MAX_SPACES = 10_000  # spaces whose last count is cached
COUNTED_NODES: frozenset[Node] = frozenset({"hotpath", "worker"})


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteContext:
    """A write before its quotas: the space at a revision, the extraction record, and the texts that the person asked to
    keep."""

    scope: Scope
    node: Node
    rev: Revision
    at: datetime
    record: ExtractionRecord | None = None
    requested_texts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quotas:
    """Caps the changes of one turn, and of one space in a day."""

    cache: ProcessCache
    ledger: TurnLedger
    model: ChatModel | None
    settings: Settings

    async def apply_quotas(self, write: WriteContext, merged: MergeResult) -> MergeResult:
        """Return the changes within the caps. The others are refused with the reason, and their edges are left out."""
        return await self._cap_day(write, await self._cap_turn(write, merged))

    async def _cap_turn(self, write: WriteContext, merged: MergeResult) -> MergeResult:
        """Cap the changes of a turn at `write.per_turn`, those by the rules and by the model together.

        What the person asked to keep does not count. Without a model no earlier extraction has to be looked up."""
        if write.record is None or not merged.changes:
            return merged
        most = self.settings.write.per_turn
        earlier: frozenset[MemoryId] = frozenset()
        if write.record.source == "model" or self.model is not None:
            earlier = await self.ledger.find_supported(write.scope, write.record.turn)
        requested = {change.after.id for change in merged.changes if change.after.text in write.requested_texts}
        return _cap_changes(merged, most - len(earlier), earlier | requested, f"more than {most} a turn")

    async def _cap_day(self, write: WriteContext, merged: MergeResult) -> MergeResult:
        """Cap the changes of a space at `write.per_day` a day (UTC); changes that a person makes by hand do not
        count."""
        most, count = self.settings.write.per_day, len(merged.changes)
        if write.node not in COUNTED_NODES or not count:
            return merged
        day = write.at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        # A change is a revision: the last count of today, and the revisions since, are an upper bound that needs no
        # query.
        counted_day, rev, counted = self.cache.daily_counts.get(write.scope.space, (None, 0, 0))
        bound = counted + write.rev - rev if counted_day == day else write.rev
        if bound + count <= most:
            return merged
        today = await self.ledger.count_changes(write.scope, day, sorted(COUNTED_NODES))
        if len(self.cache.daily_counts) >= _MAX_SPACES:
            self.cache.daily_counts.clear()
        self.cache.daily_counts[write.scope.space] = (day, write.rev, today)
        return _cap_changes(merged, most - today, (), f"more than {most} a day")


def _cap_changes(merged: MergeResult, most: int, exempt: Collection[MemoryId], reason: str) -> MergeResult:
    """Return the result with the `most` important of its changes, and with those of the `exempt` memories."""
    changes = select_most_important(merged.changes, most, exempt=exempt)
    if len(changes) == len(merged.changes):
        return merged
    refused = {each.after.id for each in merged.changes if each.before is None} - {each.after.id for each in changes}
    return replace(
        merged,
        changes=changes,
        relations=tuple(edge for edge in merged.relations if refused.isdisjoint((edge.a, edge.b))),
        refused=merged.refused + (reason,) * (len(merged.changes) - len(changes)),
    )
