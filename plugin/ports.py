"""What the plugin asks of a store of items, and of the book in which a host keeps what it has done and counted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from muniment.memory.errors import MunimentError
from muniment.plugin.domain.book import AuditLine, PluginStats, TurnReport
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
from muniment.plugin.domain.operation import ChangePage, Operation, OperationAnswer, OutboxStatus

if TYPE_CHECKING:
    from muniment.plugin.problems import Problem


class MemoryStore(Protocol):
    """A store of items. No call sees or changes an item of another tenant or user: their ids are as unknown ones.

    Each method raises StoreDown where the store cannot be reached, StoreFull where it has no room, Busy where it is
    locked, and BadInput for a value that it cannot hold."""

    async def search(self, query: SearchQuery) -> Sequence[MemoryHit]:
        """Return the items that are found where the owner is, best first."""
        ...

    async def upsert(self, items: Sequence[MemoryItem]) -> Sequence[StoredItem]:
        """Write items, each once for its id and content, and return what became of each, in order.

        An item that was forgotten is not made again: its outcome is `forgotten`. What has expired, or was dropped for
        lack of room, may be written again under its id. A change is refused that would let two items of one type and
        place say the same: both stay as they were."""
        ...

    async def forget(self, owner: ItemOwner, ids: Sequence[str]) -> Sequence[str]:
        """Forget items, and return the ids of those that were there."""
        ...

    async def compact(self, owner: ItemOwner, policy: CompactPolicy) -> CompactReport:
        """Remove what the policy says of all items of the owner, and return how many."""
        ...

    async def list(self, query: ListQuery) -> Sequence[MemoryItem]:
        """Return items, newest change first."""
        ...

    async def pin(self, owner: ItemOwner, item_id: str, *, pinned: bool) -> bool:
        """Pin or unpin an item, and return whether it was there."""
        ...

    async def close(self) -> None:
        """Finish what is under way, and close the store."""
        ...


class OperationStore(MemoryStore, Protocol):
    """A store on a server, to which a device with items of its own brings what was done there."""

    async def apply_operations(self, operations: Sequence[Operation]) -> Sequence[OperationAnswer]:
        """Carry out at most 100 operations of one owner in order, each once for its id, and return what became of each.

        Raises BadInput where none of them was carried out because of what they say."""
        ...

    async def read_changes(self, owner: ItemOwner, since: int, limit: int = 500) -> ChangePage:
        """Return how items of the owner's space are after the changes of a revision, oldest first. Raises BadInput for
        a revision that is not reached."""
        ...


class PluginBook(Protocol):
    """What a host remembers of its plugin: which sessions are switched off, what was counted, and what was changed by
    a person. It holds no text of an item or a message."""

    async def read_switch(self, owner: ItemOwner) -> bool:
        """Return whether the plugin is on in the owner's session."""
        ...

    async def write_switch(self, owner: ItemOwner, *, is_on: bool) -> None:
        """Switch the plugin on or off in the owner's session, for good."""
        ...

    async def count_writes(self, owner: ItemOwner, since: datetime) -> int:
        """Return how many items were written for the user since then, in all sessions."""
        ...

    async def record_turn(self, report: TurnReport) -> None:
        """Keep what a turn cost and did."""
        ...

    async def read_last_turn(self, owner: ItemOwner) -> TurnReport | None:
        """Return the report of the last turn of the owner's session."""
        ...

    async def record_audit(self, line: AuditLine) -> None:
        """Keep what a person has changed."""
        ...

    async def read_stats(self, tenant: str, user: str | None, since: datetime) -> PluginStats:
        """Return what was counted since then, of one user or of all of a tenant."""
        ...

    async def close(self) -> None:
        """Write what waits, and close the book."""
        ...


class RemoteCounts(NamedTuple):
    """How often this process has asked a server, and sent to it."""

    reads: int = 0
    writes: int = 0


@runtime_checkable
class RemoteCounting(Protocol):
    """A store that speaks to a server, and counts its requests."""

    @property
    def remote_reads(self) -> int:
        """Return how many requests have read."""
        ...

    @property
    def remote_writes(self) -> int:
        """Return how many requests have written."""
        ...


@runtime_checkable
class ProblemReporting(Protocol):
    """A store, a book or an embedder that knows what of it does not work."""

    def list_problems(self) -> Sequence[Problem]:
        """Return what does not work at the moment."""
        ...


@runtime_checkable
class QueueingStore(Protocol):
    """A store whose writes reach a server later."""

    def note_turn(self, owner: ItemOwner) -> None:
        """Count a turn: what may be sent depends on how many there were."""
        ...

    async def read_outbox_status(self) -> OutboxStatus:
        """Return what waits to be sent."""
        ...


def read_counts(store: object) -> RemoteCounts:
    """Return what a store has counted; nothing of one that speaks to no server."""
    return (
        RemoteCounts(store.remote_reads, store.remote_writes) if isinstance(store, RemoteCounting) else RemoteCounts()
    )


async def read_queue(store: object) -> int:
    """Return how many operations wait to be sent; 0 where that cannot be read, and of a store that sends none."""
    if not isinstance(store, QueueingStore):
        return 0
    try:
        return (await store.read_outbox_status()).waiting
    except (MunimentError, OSError):
        return 0
