"""Items from one store into another one, such as from a local file into the engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from muniment.plugin.domain.item import ItemOwner, ListQuery
from muniment.plugin.ports import MemoryStore

_BATCH = 50  # items of one call
_ALL = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferReport:
    """How many items were read, and what became of them in the other store, by outcome."""

    read: int
    outcomes: Mapping[str, int] = field(default_factory=dict, hash=False)


async def transfer_items(
    source: MemoryStore,
    target: MemoryStore,
    owner: ItemOwner,
    at: datetime,
    *,
    is_dry: bool = False,
    on_progress: Callable[[int], None] = lambda _: None,
) -> TransferReport:
    """Write all of an owner's items that have not expired at a time into another store, oldest change first, and return
    what became of each. Both stores know equal statements, so that a second run adds nothing; what was forgotten in the
    target stays forgotten. `is_dry` only counts. Raises what the stores raise; what was written until then stays."""
    items = list(reversed(await source.list(ListQuery(owner=owner, at=at, everywhere=True, limit=_ALL))))
    outcomes = Counter[str]()
    for start in range(0, 0 if is_dry else len(items), _BATCH):
        batch = items[start : start + _BATCH]
        outcomes.update(stored.outcome for stored in await target.upsert(batch))
        on_progress(len(batch))
    return TransferReport(read=len(items), outcomes=dict(outcomes))
