"""Erasure from the pages of memories: what would go with memories, and the receipts for what went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from muniment.faces.console.memories.batches import Item
from muniment.faces.console.visits import Visit
from muniment.faces.http.routes.erasure import erase_with_receipt
from muniment.memory.domain.erasure import ErasureReceipt, MemoryStatement, Traces
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.errors import Conflict, NotFound

MOST_ERASED = 10  # at once: each erasure reads the whole space

# What became of a memory: it was erased, it went with another one of them, or it was left because of a conflict.
Outcome = Literal["erased", "along", "left"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What would go with memories that are erased, each thing once: how many by what they are, and the memories."""

    counts: Mapping[str, int]
    built_on: Sequence[MemoryStatement]


async def find_losses(visit: Visit, memories: Sequence[StoredMemory]) -> list[Traces]:
    """Return the traces of memories, in their order. Raises Denied for a token of some agents, NotFound."""
    visit.caller.check_unlimited()
    return [await visit.service.memory.admin.find_traces(visit.caller.scope, each.id) for each in memories]


def sum_losses(memories: Sequence[StoredMemory], traces: Sequence[Traces]) -> Loss:
    """Return what goes with memories beside themselves."""
    chosen = {memory.id for memory in memories}
    built_on = {other.id: other for each in traces for other in each.built_on if other.id not in chosen}
    counts = {
        "turns": len({turn for each in traces for turn in each.turns}),
        "built_on": len(built_on),
        "former": len({(other.id, other.since) for each in traces for other in (*each.former, *each.around)}),
        "threads": len({thread for each in traces for thread in each.threads}),
    }
    return Loss(counts={name: count for name, count in counts.items() if count}, built_on=list(built_on.values()))


def describe_losses(memories: Sequence[StoredMemory], traces: Sequence[Traces]) -> str:
    """Return what an erasure was shown to take, as a form keeps it: another text where it would take something else."""
    return "-".join(
        ".".join(map(str, (memory.rev, *map(len, (each.turns, each.built_on, each.former, each.around, each.threads)))))
        for memory, each in zip(memories, traces, strict=True)
    )


async def erase_all(visit: Visit, items: Sequence[Item]) -> tuple[list[ErasureReceipt], Counter[Outcome]]:
    """Erase memories for good, one after the other, with their traces; return the receipts, and what became of how
    many. Raises Denied for a token of some agents, StoreError."""
    receipts: list[ErasureReceipt] = []
    outcomes: Counter[Outcome] = Counter()
    for memory in (item.memory for item in items if item.memory is not None):
        try:
            receipts.append(await erase_with_receipt(visit.caller, memory.id))
        except NotFound:
            outcomes["along"] += 1
        except Conflict:
            outcomes["left"] += 1
        else:
            outcomes["erased"] += 1
    return receipts, outcomes
