"""Limits on the changes of one turn: of too many changes the most important are made."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.plan import Change


def select_most_important(
    changes: Sequence[Change], limit: int, *, exempt: Collection[MemoryId] = ()
) -> tuple[Change, ...]:
    """At most `limit` of the changes, in their order: by importance, then by confidence, then by position.

    Changes of memories in `exempt` stay and do not count."""
    counted = [change for change in changes if change.after.id not in exempt]
    if len(counted) <= limit:
        return tuple(changes)
    ranked = sorted(counted, key=lambda change: (-change.after.importance, -change.after.confidence))
    selection = {change.after.id for change in ranked[: max(limit, 0)]} | set(exempt)
    return tuple(change for change in changes if change.after.id in selection)
