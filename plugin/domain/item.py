"""An item of memory as hosts know it, the queries that find items, and what keeps their number in bounds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    from muniment.memory.domain.ids import Vector

ItemScope: TypeAlias = Literal["session", "project", "global"]
ItemType: TypeAlias = Literal["preference", "rule", "decision", "fact", "fix", "todo"]
ItemSource: TypeAlias = Literal["user", "tool", "document", "agent"]
Outcome: TypeAlias = Literal["added", "updated", "known", "merged", "forgotten", "refused"]
Channel: TypeAlias = Literal["semantic", "keyword", "recency"]
StoreName: TypeAlias = Literal["local", "engine", "remote"]
ITEM_SCOPES: tuple[ItemScope, ...] = get_args(ItemScope)
ITEM_TYPES: tuple[ItemType, ...] = get_args(ItemType)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemOwner:
    """Whose items a call concerns, and where it comes from. Each store separates tenants and users by it.

    Items of the scope `global` are found everywhere, those of a project or a session only where that is named."""

    user: str
    tenant: str = "default"
    project: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem:
    """One distilled statement: never a raw message.

    `id` is a UUID in its usual form, made by whoever makes the item. Confidence and importance are in [0, 1]. `ttl` is
    counted from `created_at`; None is for ever. Times have a zone."""

    id: str
    tenant_id: str
    user_id: str
    type: ItemType
    content: str
    created_at: datetime
    scope: ItemScope = "global"
    project_id: str | None = None
    session_id: str | None = None
    summary: str | None = None  # a shorter form that is shown in place of the content
    tags: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()  # further words by which it is found
    embedding: Vector | None = None  # never sent to another machine, whose model may be another one
    embedding_model: str | None = None
    confidence: float = 1.0
    importance: float = 0.5
    source: ItemSource = "user"  # who said or found it
    origin: str | None = None  # name or address of what it comes from
    updated_at: datetime | None = None  # None: never since it was made
    last_accessed_at: datetime | None = None
    ttl: timedelta | None = None
    pinned: bool = False
    deleted: bool = False  # forgotten: in no answer, and never made again by what comes later

    @property
    def expires_at(self) -> datetime | None:
        """The time from which on no answer has it; None for never."""
        return None if self.ttl is None else self.created_at + self.ttl


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """What is searched for. `vector` is that of the text by `vector_model`, where the caller has it already."""

    owner: ItemOwner
    text: str
    at: datetime
    top_k: int = 8  # 3 to 8
    min_score: float = 0.20
    types: tuple[ItemType, ...] = ()  # none: all
    vector: Vector | None = None
    vector_model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHit:
    """An item that answers a query. `score` is the weighted sum of `parts`, each of them in [0, 1]."""

    item: MemoryItem
    score: float
    parts: dict[Channel, float]
    store: StoreName
    fetched_at: datetime | None = None  # of a find of a server that is kept locally: when it was found there


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """Which items to list, newest change first. None and an empty tuple filter nothing."""

    owner: ItemOwner
    at: datetime
    types: tuple[ItemType, ...] = ()
    scopes: tuple[ItemScope, ...] = ()
    pinned: bool | None = None
    with_deleted: bool = False
    everywhere: bool = False  # of all projects and sessions of the user, too
    id_prefix: str | None = None  # the beginning of an id, as a person types it
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredItem:
    """What became of an item that was given to a store.

    `id` is the one under which it stands there: another than the given one where the store knew the same fact."""

    given_id: str
    id: str
    outcome: Outcome
    reason: str | None = None  # of a refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactPolicy:
    """What compacting removes: what has expired, what was forgotten so long ago, near-duplicates, and over a bound the
    least important and oldest. What is pinned always stays."""

    at: datetime
    forgotten_days: float = 30
    merge_similarity: float | None = 0.92  # from which on two items of a type and place are one; None merges none
    max_items: int | None = 50_000
    max_bytes: int | None = None  # of contents


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactReport:
    """How many items compacting removed, by reason."""

    expired: int = 0
    purged: int = 0
    merged: int = 0
    dropped: int = 0
    kept: int = 0
