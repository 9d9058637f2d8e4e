"""Undoing a consolidation: each memory becomes what it was, and later runs keep its pairs apart."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from operator import itemgetter
from uuid import UUID

from muniment.memory.domain.consolidation import AccessTransfer, GainedEdge, RunChange, UndoPlan
from muniment.memory.domain.ids import MemoryId, RunId
from muniment.memory.domain.plan import Change


def plan_undo(steps: Sequence[RunChange], run: RunId) -> UndoPlan:
    """Return the plan that makes each memory what it was before a run, with its edges and access counts.

    A memory that was changed since then stays as it is, but is separated from those that were merged with it."""
    untouched = [step for step in steps if step.is_untouched]
    changes = []
    for step in untouched:
        # The mark says that a restored memory was active all the time.
        meta = {"undo": str(run)} | ({"stayed": True} if step.now.state == "active" else {})
        changes.append(Change(action="RESTORE", before=step.now, after=step.before, meta=meta))
    return UndoPlan(
        changes=tuple(changes),
        edges=_collect_edges(untouched),
        access_transfers=tuple(transfer for step in untouched if (transfer := _sum_accesses(step))),
        separated_groups=_group_merged(steps),
    )


def _collect_edges(steps: Sequence[RunChange]) -> tuple[GainedEdge, ...]:
    """Return the edges that the memories gained, each with its strength before the run."""
    edges: dict[tuple[MemoryId, MemoryId], GainedEdge] = {}
    entries = sorted(
        ((meta["rev"], step.now.id, meta.get("edges", ())) for step in steps for meta in step.journal_metas),
        key=itemgetter(0),
    )
    for stays, (other, now, former) in ((id_, edge) for _, id_, gained in entries for edge in gained):
        low, high = sorted((stays, MemoryId(UUID(other))))
        first = edges.get((low, high))
        edges[low, high] = GainedEdge(low=low, high=high, now=now, before=first.before if first else former)
    return tuple(edges.values())


def _sum_accesses(step: RunChange) -> AccessTransfer | None:
    """Return the accesses that a memory took over; None if there are none."""
    metas = sorted(step.journal_metas, key=itemgetter("rev"))
    transfers = [meta["accessed"] for meta in metas if "accessed" in meta]
    if not transfers:
        return None
    count = sum(transfer[0] for transfer in transfers)
    last, former = (datetime.fromisoformat(at) if at else None for at in (transfers[-1][1], transfers[0][2]))
    return AccessTransfer(id=step.now.id, count=count, at=last, before=former)


def _group_merged(steps: Sequence[RunChange]) -> tuple[frozenset[MemoryId], ...]:
    """Return groups of the memories that were merged, directly or through others."""
    groups: dict[MemoryId, frozenset[MemoryId]] = {step.now.id: frozenset({step.now.id}) for step in steps}
    for step in steps:
        for meta in step.journal_metas:
            for other in (MemoryId(UUID(meta[side])) for side in ("from", "into") if side in meta):
                if other in groups:
                    both = groups[step.now.id] | groups[other]
                    groups |= dict.fromkeys(both, both)
    return tuple(dict.fromkeys(groups.values()))
