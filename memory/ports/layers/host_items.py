"""The port of the items of hosts: where the ids that hosts have given lead."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from muniment.memory.domain.layers.host_items import HostItem
from muniment.memory.domain.scope import Scope


class HostItemStore(Protocol):
    """The items of hosts in a space. A plan writes them with the memories that they become."""

    async def find_items(self, scope: Scope, ids: Sequence[UUID]) -> dict[UUID, HostItem]:
        """Return where ids lead: to the memory that stays, of one that was superseded. An id that no host has given
        leads to the memory with this id; one that leads to no memory and that nobody knows is left out."""
        ...

    async def mark_forgotten(self, scope: Scope, item_id: UUID, at: datetime, said: bytes | None) -> None:
        """Record that an item is forgotten, also one that is not known yet, with the digest of its words where these
        are known. The first time stays."""
        ...

    async def was_forgotten(self, scope: Scope, said: bytes) -> bool:
        """Return whether an item with words of this digest was forgotten, under whatever id."""
        ...
