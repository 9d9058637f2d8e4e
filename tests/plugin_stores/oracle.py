"""A store of items in a dictionary, as plain as can be: what the answers of the others are compared with. It has words
and no vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from muniment.memory.errors import DuplicateMemory
from muniment.memory.rules.statements.parse import normalize_sentence
from muniment.plugin.domain.item import (
    CompactPolicy,
    CompactReport,
    ItemOwner,
    ListQuery,
    MemoryItem,
    SearchQuery,
    StoredItem,
)
from muniment.plugin.stores.scoring import Weights, score_item


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """In what a store is meant to differ from a file.

    Beside these, an engine keeps importance in five steps, takes its own clock for the time of a change, and orders
    changes of one moment as they came."""

    renews_pinned: bool = False  # a pin is a change, which makes the item newer
    renews_repeated: bool = True  # a statement that is said again is newer, also where that adds nothing to it
    keeps_expired: bool = False  # one that has expired and is said again goes on under its id, and does not begin anew
    forgets_unknown: bool = False  # an id that is forgotten before it came is refused when it comes
    keeps_other_ids: bool = False  # an id under which a known statement was said again leads to it for ever


FILE = Differences()
ENGINE = Differences(
    renews_pinned=True, renews_repeated=False, keeps_expired=True, forgets_unknown=True, keeps_other_ids=True
)


@dataclass
class PlainStore:
    """Items by owner and id, and what was forgotten: ids and contents."""

    differences: Differences = FILE
    items: dict[tuple[str, str], dict[str, MemoryItem]] = field(default_factory=dict)
    gone_ids: set[tuple[str, str, str]] = field(default_factory=set)
    gone_texts: set[tuple[str, str, str]] = field(default_factory=set)

    def upsert_item(self, item: MemoryItem) -> StoredItem:
        """Write an item."""
        key = item.tenant_id, item.user_id
        mine = self.items.setdefault(key, {})
        if (*key, item.id) in self.gone_ids or (*key, normalize_sentence(item.content)) in self.gone_texts:
            return StoredItem(given_id=item.id, id=item.id, outcome="forgotten")
        if (old := mine.get(item.id)) is not None:
            if item == old or find_change(item) < find_change(old):
                return StoredItem(given_id=item.id, id=item.id, outcome="known")
            if _sameness(item) != _sameness(old) and self._find_same(mine, item) is not None:
                return StoredItem(given_id=item.id, id=item.id, outcome="refused", reason=str(DuplicateMemory()))
            mine[item.id] = item
            return StoredItem(given_id=item.id, id=item.id, outcome="updated")
        same = self._find_same(mine, item)
        if same is None:
            mine[item.id] = item
            return StoredItem(given_id=item.id, id=item.id, outcome="added")
        merged = _combine(same, item)
        if not self.differences.renews_repeated and replace(merged, updated_at=same.updated_at) == same:
            merged = same
        mine[same.id] = merged
        return StoredItem(given_id=item.id, id=same.id, outcome="known" if merged == same else "merged")

    def search(self, query: SearchQuery) -> list[tuple[str, float]]:
        """Return ids and scores, best first."""
        scored = [
            (item.id, score.total)
            for item in self._list_seen(query.owner, query.at, everywhere=False)
            if (score := score_item(item, query, Weights())).is_relevant and score.total >= query.min_score
            if not query.types or item.type in query.types
        ]
        return sorted(scored, key=lambda each: (-each[1], each[0]))[: min(8, max(3, query.top_k))]

    def list_items(self, query: ListQuery) -> list[MemoryItem]:
        """Return items, newest change first."""
        seen = self._list_seen(query.owner, query.at, everywhere=query.everywhere)
        kept = [item for item in seen if query.pinned is None or item.pinned == query.pinned]
        return sorted(kept, key=lambda item: (-find_change(item).timestamp(), item.id))[: query.limit]

    def forget_items(self, owner: ItemOwner, ids: Sequence[str]) -> list[str]:
        """Forget items."""
        mine = self.items.get((owner.tenant, owner.user), {})
        if self.differences.forgets_unknown and (owner.tenant, owner.user) in self.items:
            self.gone_ids.update((owner.tenant, owner.user, id_) for id_ in ids)
        gone = [id_ for id_ in dict.fromkeys(ids) if id_ in mine]
        for id_ in gone:
            item = mine.pop(id_)
            self.gone_ids.add((owner.tenant, owner.user, id_))
            self.gone_texts.add((owner.tenant, owner.user, normalize_sentence(item.content)))
        return gone

    def pin_item(self, owner: ItemOwner, id_: str, at: datetime, *, pinned: bool) -> bool:
        """Pin or unpin an item."""
        mine = self.items.get((owner.tenant, owner.user), {})
        if (item := mine.get(id_)) is None:
            return False
        is_renewed = self.differences.renews_pinned and item.pinned != pinned
        mine[id_] = replace(item, pinned=pinned, updated_at=at if is_renewed else item.updated_at)
        return True

    def compact_items(self, owner: ItemOwner, policy: CompactPolicy) -> CompactReport:
        """Remove what has expired and is not pinned, and over the bound the least important; merge equal statements."""
        mine = self.items.get((owner.tenant, owner.user), {})
        expired = [item for item in mine.values() if _is_over(item, policy.at) and not item.pinned]
        for item in expired:
            del mine[item.id]
        least = sorted(
            (item for item in mine.values() if not item.pinned),
            key=lambda item: (item.importance, find_change(item), item.id),
        )
        dropped = least[: max(0, len(mine) - policy.max_items)] if policy.max_items is not None else []
        for item in dropped:
            del mine[item.id]
        return CompactReport(expired=len(expired), dropped=len(dropped), kept=len(mine))

    def _find_same(self, mine: dict[str, MemoryItem], item: MemoryItem) -> MemoryItem | None:
        """Return what says the same as an item. One that has expired goes, where that is not kept."""
        same = next((each for each in mine.values() if _sameness(each) == _sameness(item)), None)
        if same is None or self.differences.keeps_expired or not _is_over(same, find_change(item)):
            return same
        del mine[same.id]
        return None

    def _list_seen(self, owner: ItemOwner, at: datetime, *, everywhere: bool) -> list[MemoryItem]:
        mine = self.items.get((owner.tenant, owner.user), {}).values()
        return [item for item in mine if not _is_over(item, at) and (everywhere or _is_found(item, owner))]


def _is_found(item: MemoryItem, owner: ItemOwner) -> bool:
    if item.scope == "project":
        return item.project_id == owner.project
    return item.scope == "global" or item.session_id == owner.session


def _is_over(item: MemoryItem, at: datetime) -> bool:
    return item.expires_at is not None and item.expires_at <= at


def find_change(item: MemoryItem) -> datetime:
    """Return when an item was changed last."""
    return item.updated_at or item.created_at


def _sameness(item: MemoryItem) -> tuple[str | None, ...]:
    place = {"global": None, "project": item.project_id, "session": item.session_id}[item.scope]
    return item.type, item.scope, place, normalize_sentence(item.content)


def _combine(kept: MemoryItem, other: MemoryItem) -> MemoryItem:
    ends = [kept.expires_at, other.expires_at]
    end = None if None in ends else max(each for each in ends if each is not None)
    return replace(
        kept,
        tags=tuple(dict.fromkeys((*kept.tags, *other.tags))),
        confidence=max(kept.confidence, other.confidence),
        importance=max(kept.importance, other.importance),
        updated_at=find_change(other) if find_change(other) > find_change(kept) else kept.updated_at,
        ttl=None if end is None else end - kept.created_at,
        pinned=kept.pinned or other.pinned,
    )
