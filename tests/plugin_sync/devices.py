"""Devices with a file each, one server between them, and a connection that loses what it carries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from muniment.memory.config.settings import load_settings
from muniment.memory.errors import StoreDown
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
from muniment.plugin.domain.operation import ChangePage, Operation, OperationAnswer
from muniment.plugin.ports import MemoryStore, OperationStore
from muniment.plugin.stores.engine.store import EngineStore
from muniment.plugin.stores.hybrid.migrations import OUTBOX
from muniment.plugin.stores.hybrid.mirror import MirrorStore
from muniment.plugin.stores.hybrid.sender import SendOptions
from muniment.plugin.stores.hybrid.store import HybridOptions, HybridStore
from muniment.plugin.stores.local.store import LocalOptions
from tests.engine import engine

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
ANA = ItemOwner(user="ana", tenant="acme")
SETTINGS = load_settings({"MUNIMENT_EMBEDDER": "hash-256", "HOME": "/nonexistent"}).plugin
# Statements that no rule holds to be the same.
CONTENTS = tuple(
    f"The {part} of {place} {verb} {what}."
    for part, verb, what in (
        ("billing service", "listens on port", "8010"),
        ("release branch", "is cut on", "Thursday"),
        ("linter", "forbids", "wildcard imports"),
        ("backup job", "writes to", "the cold bucket"),
        ("login page", "shows", "a captcha"),
        ("schema", "uses", "snake case names"),
    )
    for place in ("Lisbon", "Oslo", "Kyoto", "Quito", "Tunis")
)


@dataclass
class Clock:
    """A clock that a test moves."""

    at: datetime = NOON

    def __call__(self) -> datetime:
        return self.at

    def advance(self, **parts: float) -> None:
        """Let time pass."""
        self.at += timedelta(**parts)


@dataclass
class Connection(OperationStore):
    """A connection to a server, which may be cut, or lose a share of its requests and of its replies."""

    server: OperationStore
    random: Random = field(default_factory=lambda: Random(1))
    lost: float = 0.0
    is_cut: bool = False
    loses_replies: bool = False
    searches: int = 0
    batches: int = 0
    sent: list[Operation] = field(default_factory=list)  # that have reached the server
    meanwhile: Callable[[], Awaitable[None]] | None = None  # what is done here while changes are on their way, once

    def _lose(self) -> None:
        if self.is_cut or self.random.random() < self.lost:
            raise StoreDown

    async def search(self, query: SearchQuery) -> Sequence[MemoryHit]:
        self.searches += 1
        self._lose()
        hits = await self.server.search(query)
        self._lose()
        return hits

    async def apply_operations(self, operations: Sequence[Operation]) -> Sequence[OperationAnswer]:
        self.batches += 1
        self._lose()
        self.sent += operations
        answers = await self.server.apply_operations(operations)
        self._lose()
        if self.loses_replies:
            raise StoreDown
        return answers

    async def read_changes(self, owner: ItemOwner, since: int, limit: int = 500) -> ChangePage:
        self._lose()
        page = await self.server.read_changes(owner, since, limit)
        if (meanwhile := self.meanwhile) is not None:
            self.meanwhile = None
            await meanwhile()
        self._lose()
        return page

    async def upsert(self, items: Sequence[MemoryItem]) -> Sequence[StoredItem]:
        return await self.server.upsert(items)

    async def forget(self, owner: ItemOwner, ids: Sequence[str]) -> Sequence[str]:
        return await self.server.forget(owner, ids)

    async def compact(self, owner: ItemOwner, policy: CompactPolicy) -> CompactReport:
        return await self.server.compact(owner, policy)

    async def list(self, query: ListQuery) -> Sequence[MemoryItem]:
        return await self.server.list(query)

    async def pin(self, owner: ItemOwner, item_id: str, *, pinned: bool) -> bool:
        return await self.server.pin(owner, item_id, pinned=pinned)

    async def close(self) -> None:
        """The server goes on."""


def make_item(number: int, content: str, **more: Any) -> MemoryItem:
    """An item of Ana's, with an id that its number makes."""
    given: dict[str, Any] = {
        "id": str(UUID(int=number + (4 << 76) + (8 << 60))),
        "tenant_id": ANA.tenant,
        "type": "rule",
        "created_at": NOON,
    } | more
    return MemoryItem(user_id=ANA.user, content=content, **given)


def open_device(path: Path, connection: OperationStore, clock: Callable[[], datetime], **options: Any) -> HybridStore:
    """A store over a file and a server that sends when it is told to, and not by itself."""
    local = MirrorStore(
        path, options=LocalOptions(parts=(OUTBOX,), busy_seconds=options.pop("busy_seconds", 5.0)), now=clock
    )
    given: dict[str, Any] = {
        "remote_seconds": 10.0,
        "is_automatic": False,
        "sending": SendOptions(outbox=options.pop("outbox", 10_000)),
        **options,
    }
    return HybridStore(local, connection, HybridOptions(gates=SETTINGS.gates, **given), now=clock, random=Random(1))


@asynccontextmanager
async def open_server(database_url: str) -> AsyncIterator[EngineStore]:
    """The server's store, over a database of the test's own."""
    async with engine(database_url) as memory:
        yield EngineStore(memory, SETTINGS)


async def list_all(
    store: MemoryStore, at: datetime = NOON, limit: int = 10_000, owner: ItemOwner = ANA
) -> dict[str, tuple[str, bool]]:
    """Content and pin of all items by their ids."""
    items = await store.list(ListQuery(owner=owner, at=at, everywhere=True, limit=limit))
    return {item.id: (item.content, item.pinned) for item in items}
