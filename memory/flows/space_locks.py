"""One lock a space, for the writers of this process."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

from muniment.memory.domain.ids import SpaceId


class SpaceLocks:
    """Gives the writers of a space one lock, so that within this process none outdates the plan of another."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[SpaceId, asyncio.Lock] = WeakValueDictionary()

    def space_lock(self, space: SpaceId) -> asyncio.Lock:
        """Return the lock of a space; it lives as long as somebody holds or awaits it."""
        return self._locks.setdefault(space, asyncio.Lock())
