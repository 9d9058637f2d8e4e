"""A store of items that counts its calls, over another one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from muniment.plugin.domain.item import (
    CompactPolicy,
    CompactReport,
    ItemOwner,
    ListQuery,
    MemoryHit,
    MemoryItem,
    SearchQuery,
    StoredItem,
)
from muniment.plugin.ports import MemoryStore

READS = ("search", "list")


class CountedStore:
    """Passes each call on; `calls` counts them by the name of the method."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.calls: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """How many calls there were."""
        return self.calls.total()

    @property
    def writes(self) -> int:
        """How many calls there were that change items."""
        return sum(count for name, count in self.calls.items() if name not in READS)

    async def search(self, query: SearchQuery) -> Sequence[MemoryHit]:
        """Return what the store finds."""
        self.calls["search"] += 1
        return await self._store.search(query)

    async def upsert(self, items: Sequence[MemoryItem]) -> Sequence[StoredItem]:
        """Write items."""
        self.calls["upsert"] += 1
        return await self._store.upsert(items)

    async def forget(self, owner: ItemOwner, ids: Sequence[str]) -> Sequence[str]:
        """Forget items."""
        self.calls["forget"] += 1
        return await self._store.forget(owner, ids)

    async def compact(self, owner: ItemOwner, policy: CompactPolicy) -> CompactReport:
        """Compact the items of the owner."""
        self.calls["compact"] += 1
        return await self._store.compact(owner, policy)

    async def list(self, query: ListQuery) -> Sequence[MemoryItem]:
        """List items."""
        self.calls["list"] += 1
        return await self._store.list(query)

    async def pin(self, owner: ItemOwner, item_id: str, *, pinned: bool) -> bool:
        """Pin or unpin an item."""
        self.calls["pin"] += 1
        return await self._store.pin(owner, item_id, pinned=pinned)

    async def close(self) -> None:
        """Close the store, which is no backend call of a turn."""
        await self._store.close()
