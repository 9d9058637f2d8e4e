"""What erasure needs of a store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from muniment.memory.domain.erasure import ErasureReceipt, MemoryStatement, Traces
from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn


class ErasureStore(Protocol):
    """The part of a store that removes for good."""

    async def list_memory_texts(
        self, scope: Scope, after: tuple[MemoryId, Revision], limit: int
    ) -> list[MemoryStatement]:
        """The texts of all memories, whatever their state, and their former ones, in the order of ids and revisions."""
        ...

    async def list_turns(self, scope: Scope, after: TurnId, limit: int) -> list[Turn]:
        """The turns of the ledger, in the order of their ids."""
        ...

    async def find_threads(
        self, scope: Scope, ids: Sequence[MemoryId] | None = None, turns: Sequence[TurnId] = ()
    ) -> frozenset[str]:
        """The threads in which these memories were written or changed and these turns were said; of None all of the space."""
        ...

    async def purge_memories(self, scope: Scope, ids: Sequence[MemoryId], at: datetime) -> ErasureReceipt:
        """Remove those of the memories whose `purge_at` has come and that are not active: their vectors, versions, relations,
        requests and events, and what the journal says of them. The journal keeps that they were, and gets one last line each.
        """
        ...

    async def erase_memory(self, scope: Scope, memory_id: MemoryId, traces: Traces, at: datetime) -> ErasureReceipt:
        """Remove a memory as `purge` does, whatever its state, and its traces: what was built on it, the turns that say it
        and what hangs on them. Raises Conflict when the space is no longer at `traces.rev`."""
        ...

    async def erase_space(self, scope: Scope, at: datetime) -> ErasureReceipt:
        """Remove a space: every row of every table, its jobs and its indexes. What the tenant spent stays, without a name."""
        ...
