"""The bodies of the store's requests and answers, one definition for both ends of the wire.

Neither a tenant nor a user is among the fields: the token says them. Vectors are never sent: the other end may have
another model."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Self
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from muniment.plugin.domain.item import (
    Channel,
    CompactPolicy,
    CompactReport,
    ItemOwner,
    ItemScope,
    ItemSource,
    ItemType,
    ListQuery,
    MemoryHit,
    MemoryItem,
    Outcome,
    SearchQuery,
    StoredItem,
)
from muniment.plugin.stores.remote.search_words import list_search_words
from muniment.plugin.stores.scoring import MAX_HITS, MIN_HITS

PROTOCOL = 1
PROTOCOL_HEADER = "Muniment-Store-Protocol"
TENANT_HEADER = "Muniment-Store-Tenant"
MAX_ITEMS = 100  # of one request
MAX_PAGE = 500  # items of one list, and changes of one page
MAX_CONTENT = 10_000  # characters of an item; the engine keeps far fewer
_FIRST_YEAR, _LAST_YEAR = 1970, 2999  # of a time: far enough from the ends that a zone or a ttl may be added
_MAX_TTL = 100 * 366 * 86_400.0
MAX_REVISION = 2**63 - 1


def _check_year(at: datetime) -> datetime:
    if not _FIRST_YEAR <= at.year <= _LAST_YEAR:
        raise ValueError(f"a time between {_FIRST_YEAR} and {_LAST_YEAR} is wanted")
    return at.astimezone(UTC)


def _refuse_number(at: object) -> object:
    """Refuse what would be read as seconds since 1970, also in a text: a time is an ISO text."""
    if isinstance(at, int | float) or (isinstance(at, str) and "-" not in at[1:]):
        raise ValueError("an ISO time is wanted")
    return at


Time = Annotated[AwareDatetime, BeforeValidator(_refuse_number), AfterValidator(_check_year)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(min_length=1, max_length=MAX_CONTENT)]
Flag = Annotated[bool, Field(strict=True)]  # no 0 or 1, as the schema has it
ShareValue = Annotated[float, Field(ge=0, le=1, strict=True)]
ItemIds = Annotated[list[UUID], Field(max_length=MAX_ITEMS)]


class Shape(BaseModel):
    """A body that has no other fields than its own."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class ItemShape(Shape):
    """An item of memory: one distilled statement."""

    id: UUID = Field(description="Made by the host that makes the item.")
    type: ItemType
    content: Text
    scope: ItemScope = "global"
    project: Name | None = None
    session: Name | None = None
    summary: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    tags: Annotated[list[Name], Field(max_length=32)] = []
    keywords: Annotated[list[Annotated[str, Field(min_length=1, max_length=80)]], Field(max_length=16)] = []
    confidence: ShareValue = 1.0
    importance: ShareValue = 0.5
    source: ItemSource = "user"
    origin: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    created_at: Time
    updated_at: Time | None = None
    last_accessed_at: Time | None = None
    ttl_seconds: Annotated[float | None, Field(ge=-_MAX_TTL, le=_MAX_TTL, strict=True)] = Field(
        None, description="From created_at on."
    )
    pinned: Flag = False
    deleted: Flag = False

    @classmethod
    def from_item(cls, item: MemoryItem) -> Self:
        """Return the body of an item. Raises ValueError for what it cannot hold."""
        return cls(
            id=UUID(item.id),
            type=item.type,
            content=item.content,
            scope=item.scope,
            project=item.project_id,
            session=item.session_id,
            summary=item.summary,
            tags=list(item.tags),
            keywords=list(item.keywords),
            confidence=item.confidence,
            importance=item.importance,
            source=item.source,
            origin=item.origin,
            created_at=item.created_at,
            updated_at=item.updated_at,
            last_accessed_at=item.last_accessed_at,
            ttl_seconds=None if item.ttl is None else item.ttl.total_seconds(),
            pinned=item.pinned,
            deleted=item.deleted,
        )

    def to_item(self, tenant: str, user: str) -> MemoryItem:
        """Return the item, of this tenant and user."""
        return MemoryItem(
            id=str(self.id),
            tenant_id=tenant,
            user_id=user,
            type=self.type,
            content=self.content,
            scope=self.scope,
            project_id=self.project,
            session_id=self.session,
            summary=self.summary,
            tags=tuple(self.tags),
            keywords=tuple(self.keywords),
            confidence=self.confidence,
            importance=self.importance,
            source=self.source,
            origin=self.origin,
            created_at=self.created_at,
            updated_at=self.updated_at,
            last_accessed_at=self.last_accessed_at,
            ttl=None if self.ttl_seconds is None else timedelta(seconds=self.ttl_seconds),
            pinned=self.pinned,
            deleted=self.deleted,
        )


class PlaceShape(Shape):
    """Where a request is made: what belongs to a project or a session is found there alone."""

    project: Name | None = None
    session: Name | None = None

    def to_owner(self, tenant: str, user: str) -> ItemOwner:
        """Return whose items it concerns, and where it is made."""
        return ItemOwner(tenant=tenant, user=user, project=self.project, session=self.session)


class SearchShape(PlaceShape):
    """A search. `at` is the time by which items are new or expired."""

    text: Annotated[str, Field(max_length=10_000)]
    at: Time
    top_k: Annotated[int, Field(ge=3, le=8, strict=True)] = 8
    min_score: ShareValue = 0.20
    types: Annotated[list[ItemType], Field(max_length=6)] = []

    @classmethod
    def from_query(cls, query: SearchQuery) -> Self:
        """Return the body of a search, with the words of its text and without its vector. Raises ValueError for what it
        cannot hold."""
        return cls(
            project=query.owner.project,
            session=query.owner.session,
            text=list_search_words(query.text),
            at=query.at,
            top_k=min(MAX_HITS, max(MIN_HITS, query.top_k)),
            min_score=query.min_score,
            types=list(query.types),
        )

    def to_query(self, owner: ItemOwner) -> SearchQuery:
        """Return the query of this owner."""
        return SearchQuery(
            owner=owner,
            text=self.text,
            at=self.at,
            top_k=self.top_k,
            min_score=self.min_score,
            types=tuple(self.types),
        )


class HitShape(Shape):
    """An item that answers a search, with the parts of its score."""

    item: ItemShape
    score: ShareValue
    parts: dict[Channel, ShareValue]

    @classmethod
    def from_hit(cls, hit: MemoryHit) -> Self:
        """Return the body of a hit."""
        return cls(item=ItemShape.from_item(hit.item), score=_clip(hit.score), parts=dict(hit.parts))

    def to_hit(self, owner: ItemOwner) -> MemoryHit:
        """Return the hit, as one of a server."""
        parts = dict(self.parts)
        return MemoryHit(
            item=self.item.to_item(owner.tenant, owner.user), score=self.score, parts=parts, store="remote"
        )


class HitsShape(Shape):
    """What a search finds, best first."""

    hits: Annotated[list[HitShape], Field(max_length=8)]


class ListShape(PlaceShape):
    """What to list. What is left out narrows nothing."""

    at: Time
    types: Annotated[list[ItemType], Field(max_length=6)] = []
    scopes: Annotated[list[ItemScope], Field(max_length=3)] = []
    pinned: Flag | None = None
    with_deleted: Flag = False
    everywhere: Flag = Field(False, description="Of all projects and sessions that the token is for, too.")
    id_prefix: Annotated[str, Field(min_length=1, max_length=36)] | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, strict=True)] = 50

    @classmethod
    def from_query(cls, query: ListQuery) -> Self:
        """Return the body of a list. Raises ValueError for what it cannot hold."""
        return cls(
            project=query.owner.project,
            session=query.owner.session,
            at=query.at,
            types=list(query.types),
            scopes=list(query.scopes),
            pinned=query.pinned,
            with_deleted=query.with_deleted,
            everywhere=query.everywhere,
            id_prefix=query.id_prefix,
            limit=min(query.limit, MAX_PAGE),
        )

    def to_query(self, owner: ItemOwner) -> ListQuery:
        """Return the query of this owner."""
        return ListQuery(
            owner=owner,
            at=self.at,
            types=tuple(self.types),
            scopes=tuple(self.scopes),
            pinned=self.pinned,
            with_deleted=self.with_deleted,
            everywhere=self.everywhere,
            id_prefix=self.id_prefix,
            limit=self.limit,
        )


class ItemsShape(Shape):
    """Items, newest change first."""

    items: Annotated[list[ItemShape], Field(max_length=MAX_PAGE)]


class UpsertShape(Shape):
    """Items to write."""

    items: Annotated[list[ItemShape], Field(min_length=1, max_length=MAX_ITEMS)]


class StoredShape(Shape):
    """What became of an item. `id` is the one under which it stands there."""

    given_id: UUID
    id: UUID
    outcome: Outcome
    reason: Annotated[str, Field(max_length=500)] | None = None

    @classmethod
    def from_stored(cls, stored: StoredItem) -> Self:
        """Return the body of an outcome."""
        given, id_ = UUID(stored.given_id), UUID(stored.id)
        return cls(given_id=given, id=id_, outcome=stored.outcome, reason=cut_reason(stored.reason))

    def to_stored(self) -> StoredItem:
        """Return the outcome."""
        return StoredItem(given_id=str(self.given_id), id=str(self.id), outcome=self.outcome, reason=self.reason)


class StoredItemsShape(Shape):
    """What became of the items, in their order."""

    items: Annotated[list[StoredShape], Field(max_length=MAX_ITEMS)]


class ForgetShape(PlaceShape):
    """Items to forget."""

    ids: Annotated[list[UUID], Field(min_length=1, max_length=MAX_ITEMS)]


class ForgottenShape(Shape):
    """The items that were there."""

    ids: ItemIds


class PinShape(PlaceShape):
    """An item to pin or unpin."""

    id: UUID
    pinned: Flag


class PinnedShape(Shape):
    """Whether the item was there."""

    found: Flag


class CompactShape(PlaceShape):
    """What compacting is to remove."""

    at: Time
    forgotten_days: Annotated[float, Field(ge=0, le=36_500, strict=True)] = 30
    merge_similarity: ShareValue | None = 0.92
    max_items: Annotated[int | None, Field(ge=0, le=2**31 - 1, strict=True)] = None
    max_bytes: Annotated[int | None, Field(ge=0, le=MAX_REVISION, strict=True)] = None

    @classmethod
    def from_policy(cls, owner: ItemOwner, policy: CompactPolicy) -> Self:
        """Return the body of a policy. Raises ValueError for what it cannot hold."""
        return cls(
            project=owner.project,
            session=owner.session,
            at=policy.at,
            forgotten_days=policy.forgotten_days,
            merge_similarity=policy.merge_similarity,
            max_items=policy.max_items,
            max_bytes=policy.max_bytes,
        )

    def to_policy(self) -> CompactPolicy:
        """Return the policy."""
        return CompactPolicy(
            at=self.at,
            forgotten_days=self.forgotten_days,
            merge_similarity=self.merge_similarity,
            max_items=self.max_items,
            max_bytes=self.max_bytes,
        )


class CompactedShape(Shape):
    """How many items were removed, by reason, and how many there are."""

    expired: Annotated[int, Field(ge=0, strict=True)] = 0
    purged: Annotated[int, Field(ge=0, strict=True)] = 0
    merged: Annotated[int, Field(ge=0, strict=True)] = 0
    dropped: Annotated[int, Field(ge=0, strict=True)] = 0
    kept: Annotated[int, Field(ge=0, strict=True)] = 0

    @classmethod
    def from_report(cls, report: CompactReport) -> Self:
        """Return the body of a report."""
        return cls(
            expired=report.expired,
            purged=report.purged,
            merged=report.merged,
            dropped=report.dropped,
            kept=report.kept,
        )

    def to_report(self) -> CompactReport:
        """Return the report."""
        return CompactReport(
            expired=self.expired, purged=self.purged, merged=self.merged, dropped=self.dropped, kept=self.kept
        )


def _clip(score: float) -> float:
    """Return a score without what adding up has left over."""
    return min(1.0, max(0.0, score))


def cut_reason(reason: str | None) -> str | None:
    """Return a reason as long as an answer has room for."""
    return None if reason is None else reason[:500]
