"""The caps on what is kept: changes of one turn, and of one user in a day."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.journal import Node
from muniment.memory.domain.plan import Extracted
from muniment.memory.domain.scope import Scope
from muniment.memory.flows.house import House
from muniment.memory.rules.merging.merge import Merged
from muniment.memory.rules.policy.quotas import most_important

_SPACES = 10_000  # whose last count is kept
COUNTED: frozenset[Node] = frozenset({"hotpath", "worker"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A write before it is capped: who looked at which turn, at which revision, and what the person asked to keep."""

    scope: Scope
    node: Node
    rev: Revision
    at: datetime
    looked: Extracted | None = None
    asked: frozenset[str] = frozenset()  # texts


async def capped(house: House, write: Write, merged: Merged) -> Merged:
    """What may be written of it. Changes over a cap are refused with the reason, their edges left out."""
    return await _of_day(house, write, await _of_turn(house, write, merged))


async def _of_turn(house: House, write: Write, merged: Merged) -> Merged:
    """The rules' find and the model's make and change `write.per_turn` memories together, what the person asked for aside.

    Whoever looks second finds what the first has made; where there is no model, the rules' look is the only one."""
    if write.looked is None or not merged.changes:
        return merged
    most = house.settings.write.per_turn
    made: frozenset[MemoryId] = frozenset()
    if write.looked.source == "model" or house.model is not None:
        made = await house.store.supported(write.scope, write.looked.turn)
    asked = {change.after.id for change in merged.changes if change.after.text in write.asked}
    return _least(merged, most - len(made), made | asked, f"more than {most} a turn")


async def _of_day(house: House, write: Write, merged: Merged) -> Merged:
    """A user's space changes at most `write.per_day` times a day (UTC) by itself; what a person does by hand is not counted."""
    most, wanted = house.settings.write.per_day, len(merged.changes)
    if write.node not in COUNTED or not wanted or _at_most(house, write) + wanted <= most:
        return merged
    day = _start(write.at)
    today = await house.store.written(write.scope, day, sorted(COUNTED))
    if len(house.written) >= _SPACES:
        house.written.clear()
    house.written[write.scope.space] = (day, write.rev, today)
    return _least(merged, most - today, (), f"more than {most} a day")


def _at_most(house: House, write: Write) -> int:
    """How many changes today can have seen. A change is a revision: what was counted once today, and the revisions
    since then, are no fewer than what there was, and nobody has to count again for every write."""
    day, rev, counted = house.written.get(write.scope.space, (None, 0, 0))
    return counted + write.rev - rev if day == _start(write.at) else write.rev


def _start(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _least(merged: Merged, most: int, free: Collection[MemoryId], reason: str) -> Merged:
    kept = most_important(merged.changes, most, free=free)
    if len(kept) == len(merged.changes):
        return merged
    gone = {change.after.id for change in merged.changes if change.before is None} - {one.after.id for one in kept}
    return replace(
        merged,
        changes=kept,
        relations=tuple(edge for edge in merged.relations if edge.a not in gone and edge.b not in gone),
        refused=merged.refused + (reason,) * (len(merged.changes) - len(kept)),
    )
