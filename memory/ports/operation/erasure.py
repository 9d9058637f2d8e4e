"""The erasure port: removal for good."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from muniment.memory.domain.erasure import ErasureReceipt, MemoryStatement, Traces
from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn


class ErasureStore(Protocol):
    """Removal of memories and spaces, and the reads that find what has to go with them."""

    async def list_memory_texts(
        self, scope: Scope, after: tuple[MemoryId, Revision], limit: int
    ) -> list[MemoryStatement]:
        """Return a page of the texts of all memories in any state and of their versions, by id and revision."""
        ...

    async def list_turns(self, scope: Scope, after: TurnId, limit: int) -> list[Turn]:
        """Return a page of the turns of the ledger, by id."""
        ...

    async def find_threads(
        self, scope: Scope, ids: Sequence[MemoryId] | None = None, turns: Sequence[TurnId] = ()
    ) -> frozenset[str]:
        """Return the threads in which these memories were written or changed and these turns were said; with None for
        `ids` all threads of the space."""
        ...

    async def purge_memories(
        self, scope: Scope, ids: Sequence[MemoryId], at: datetime, *, is_early: bool = False
    ) -> ErasureReceipt:
        """Remove those of the memories that are not active and whose `purge_at` has come, or is to come if `is_early`.

        Their vectors, versions, relations, requests, events and the contents of their journal lines go too. The
        journal keeps that they existed, and gets one last line for each. The ids of hosts' items that led to one lead
        nowhere; where it went without that anybody has asked for it, they are as if they had never been given."""
        ...

    async def erase_memory(self, scope: Scope, memory_id: MemoryId, traces: Traces, at: datetime) -> ErasureReceipt:
        """Remove a memory in any state as `purge_memories` does, and its traces: memories built on it, the turns that
        say it and the rows that refer to them.

        Raises Conflict when the space is no longer at `traces.rev`, NotFound when the memory does not exist."""
        ...

    async def erase_space(self, scope: Scope, at: datetime) -> ErasureReceipt:
        """Remove a space: its rows in every table, its jobs, its indexes, and the tokens that speak for its user. The
        tenant's spending stays, without a name.

        Raises Conflict while another process builds an index, StoreError for a role that may not drop the space's."""
        ...
