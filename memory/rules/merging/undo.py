"""Undoing a consolidation: what makes of every memory what it was, and keeps the next night from doing it again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any
from uuid import UUID

from muniment.memory.domain.consolidation import AccessTransfer, GainedEdge, RunChange, UndoPlan
from muniment.memory.domain.ids import MemoryId, RunId
from muniment.memory.domain.plan import Change


def plan_undo(steps: Sequence[RunChange], run: RunId) -> UndoPlan:
    """What makes of each memory what it was before a run, its edges and its retrievals too. What anybody else has changed since
    is left as it is; but it is held apart, like the others, from what was made one with it."""
    alone = [one for one in steps if one.is_untouched]
    changes = tuple(
        Change(action="RESTORE", before=one.now, after=one.before, meta={"undo": str(run)} | _mark_stayed(one))
        for one in alone
    )
    return UndoPlan(
        changes=changes,
        edges=_collect_edges(alone),
        access_transfers=tuple(got for one in alone if (got := _sum_accesses(one))),
        separated_groups=_group_merged(steps),
    )


def _collect_edges(steps: Sequence[RunChange]) -> tuple[GainedEdge, ...]:
    edges: dict[tuple[MemoryId, MemoryId], GainedEdge] = {}
    told = sorted(
        ((meta["rev"], one.now.id, meta.get("edges", ())) for one in steps for meta in one.journal_metas),
        key=itemgetter(0),
    )
    for stays, (other, now, former) in ((id_, edge) for _, id_, gained in told for edge in gained):
        low, high = sorted((stays, MemoryId(UUID(other))))
        first = edges.get((low, high))
        edges[low, high] = GainedEdge(low=low, high=high, now=now, before=first.before if first else former)
    return tuple(edges.values())


def _sum_accesses(step: RunChange) -> AccessTransfer | None:
    told = [meta["accessed"] for meta in sorted(step.journal_metas, key=itemgetter("rev")) if "accessed" in meta]
    if not told:
        return None
    count = sum(one[0] for one in told)
    return AccessTransfer(id=step.now.id, count=count, at=_parse_time(told[-1][1]), before=_parse_time(told[0][2]))


def _group_merged(steps: Sequence[RunChange]) -> tuple[frozenset[MemoryId], ...]:
    """The memories that were made one, by way of whichever others."""
    groups: dict[MemoryId, frozenset[MemoryId]] = {one.now.id: frozenset({one.now.id}) for one in steps}
    for one in steps:
        for other in (
            MemoryId(UUID(meta[side])) for meta in one.journal_metas for side in ("from", "into") if side in meta
        ):
            if other in groups:
                both = groups[one.now.id] | groups[other]
                groups |= dict.fromkeys(both, both)
    return tuple(dict.fromkeys(groups.values()))


def _mark_stayed(step: RunChange) -> dict[str, Any]:
    """What says of a memory that is restored that it was never gone."""
    return {"stayed": True} if step.now.state == "active" else {}


def _parse_time(written: str | None) -> datetime | None:
    return None if written is None else datetime.fromisoformat(written)
