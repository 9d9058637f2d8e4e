"""`HostItems`: statements that hosts keep under ids of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from muniment.memory.codec import check_calls
from muniment.memory.domain.layers.host_items import KeptHostItem
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.engine import Engine


@check_calls
class HostItems:
    """The items of hosts in a space. It shares the engine of `Memory`.

    The id of an item leads to its memory for ever: also where the memory knew the same fact already, or another one
    takes its place later."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def keep(self, scope: Scope, candidate: Candidate) -> KeptHostItem:
        """Keep a candidate under the key in its `item`, like any other: it is redacted, validated and merged.

        The same again changes nothing, and another content under a known id changes its memory. What was forgotten is
        not made again. Raises BadInput for a candidate without a key, StoreError, ModelError."""
        return await self.engine.engines.run(scope, lambda engine: engine.host_item_keeper.keep_item(scope, candidate))

    async def find(self, scope: Scope, ids: Sequence[UUID]) -> Mapping[UUID, StoredMemory]:
        """Return the memories to which ids lead, whatever their state. An unknown id, and that of an item that was
        forgotten, is left out. Raises StoreError."""
        return await self.engine.host_item_keeper.find_memories(scope, ids)

    async def forget(self, scope: Scope, item_id: UUID) -> Receipt:
        """Forget an item with its memory, which can be restored until it is purged; nothing makes it again under this
        id. Without a change where it was not there. Raises StoreError."""
        return await self.engine.host_item_keeper.forget_item(scope, item_id)

    async def pin(self, scope: Scope, item_id: UUID, *, pinned: bool) -> Receipt:
        """Pin or unpin the memory to which an id leads. Raises NotFound where it leads to none, StoreError."""
        return await self.engine.host_item_keeper.pin_item(scope, item_id, pinned=pinned)
