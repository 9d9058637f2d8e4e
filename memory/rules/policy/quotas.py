"""How much one turn may change: of too many changes the most important are made."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.plan import Change


def select_most_important(
    changes: Sequence[Change], limit: int, *, exempt: Collection[MemoryId] = ()
) -> tuple[Change, ...]:
    """At most so many of the changes, in their order: the most important, then the surest, then the first said.

    Those of memories in `free` are kept and do not count."""
    counted = [change for change in changes if change.after.id not in exempt]
    if len(counted) <= limit:
        return tuple(changes)
    ranked = sorted(counted, key=lambda change: (-change.after.importance, -change.after.confidence))
    selection = {change.after.id for change in ranked[: max(limit, 0)]} | set(exempt)
    return tuple(change for change in changes if change.after.id in selection)
