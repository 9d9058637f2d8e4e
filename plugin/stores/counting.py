"""A store whose calls are counted: those of a server cost time and money."""

from __future__ import annotations

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


class CountingStore(MemoryStore):
    """A store over another one, whose calls it counts as requests to a server."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.remote_reads = self.remote_writes = 0

    async def search(self, query: SearchQuery) -> Sequence[MemoryHit]:
        """Return what the store finds. Raises as it does."""
        self.remote_reads += 1
        return await self._store.search(query)

    async def upsert(self, items: Sequence[MemoryItem]) -> Sequence[StoredItem]:
        """Write items. Raises as the store does."""
        self.remote_writes += 1
        return await self._store.upsert(items)

    async def forget(self, owner: ItemOwner, ids: Sequence[str]) -> Sequence[str]:
        """Forget items, and return those that were there. Raises as the store does."""
        self.remote_writes += 1
        return await self._store.forget(owner, ids)

    async def compact(self, owner: ItemOwner, policy: CompactPolicy) -> CompactReport:
        """Compact the store. Raises as it does."""
        self.remote_writes += 1
        return await self._store.compact(owner, policy)

    async def list(self, query: ListQuery) -> Sequence[MemoryItem]:
        """Return items of the store. Raises as it does."""
        self.remote_reads += 1
        return await self._store.list(query)

    async def pin(self, owner: ItemOwner, item_id: str, *, pinned: bool) -> bool:
        """Pin or unpin an item, and return whether it was there. Raises as the store does."""
        self.remote_writes += 1
        return await self._store.pin(owner, item_id, pinned=pinned)

    async def close(self) -> None:
        """Close the store."""
        await self._store.close()
