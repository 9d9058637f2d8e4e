"""Which changes of a write are kept when they are more than a quota allows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from muniment.memory.domain.ids import MemoryId
from muniment.memory.rules.merging.merge import MergeResult


def cap_changes(merged: MergeResult, limit: int, exempt: Collection[MemoryId], reason: str) -> MergeResult:
    """Return the result with at most `limit` of its changes: by importance, then by confidence, then by position.

    Changes of memories in `exempt` stay and do not count. A note leaves its place to the facts that it was read as;
    where not all of them fit, it stays."""
    read = {change.after.id for change in merged.changes if change.meta.get("why") == "read"}
    counted = [change.after for change in merged.changes if change.after.id not in read.union(exempt)]
    if len(counted) <= limit + len(read.intersection(exempt)):
        return merged
    ranked = sorted(counted, key=lambda memory: (-memory.importance, -memory.confidence))
    kept = {memory.id for memory in ranked[: max(limit, 0)]} | (set(exempt) - read)
    changes = tuple(change for change in merged.changes if change.after.id in kept)
    left_out = {change.after.id for change in merged.changes} - kept - read
    refused = {each.after.id for each in merged.changes if each.before is None} - kept
    return replace(
        merged,
        changes=changes,
        fates=tuple((None, reason) if fate[0] in left_out else fate for fate in merged.fates),
        relations=tuple(edge for edge in merged.relations if refused.isdisjoint((edge.a, edge.b))),
        refused=merged.refused + (reason,) * sum(each.after.id not in kept | read for each in merged.changes),
    )
