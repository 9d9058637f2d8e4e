"""Items as memories of the engine and back, by one table.

What an item says and a memory has no field for stands in tags of the memory that begin with a mark."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType
from uuid import UUID

from muniment.memory.domain.ids import HostItemKey
from muniment.memory.domain.memory import NOTE, Fact, FactKind, Reach, Role, StoredMemory
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import BadInput
from muniment.memory.rules.extraction.work.read import PREDICATES
from muniment.memory.rules.statements.predicates import CATEGORIES
from muniment.plugin.domain.item import ItemOwner, ItemScope, ItemSource, ItemType, MemoryItem

_MADE, _SUMMARY = "made ", "summary: "  # the marks of the tags: when the host made the item, and its shorter form
_STEPS = 4  # importance is a step of 0 to 4 above 1
# The scope of an item, and how far its memory reaches.
REACH_OF_SCOPE: Mapping[ItemScope, Reach] = MappingProxyType(
    {"global": "user", "project": "project", "session": "session"}
)
# The type of an item, and the kind of its memory's fact.
KIND_OF_TYPE: Mapping[ItemType, FactKind] = MappingProxyType(
    {"preference": "preference", "rule": "rule", "decision": "decision", "fact": "note", "fix": "fix", "todo": "todo"}
)
# Who said or found an item, and the role of its turn. Trust has the names of the sources.
ROLE_OF_SOURCE: Mapping[ItemSource, Role] = MappingProxyType(
    {"user": "user", "tool": "tool", "document": "system", "agent": "assistant"}
)
_SCOPE_OF_REACH: Mapping[Reach, ItemScope] = MappingProxyType({reach: name for name, reach in REACH_OF_SCOPE.items()})
# Kinds that no item is written as, but that a memory which the engine found itself may have.
_TYPE_OF_KIND: Mapping[FactKind, ItemType] = MappingProxyType(
    {kind: name for name, kind in KIND_OF_TYPE.items()} | {"constraint": "rule", "goal": "todo"}
)


def list_fact_kinds(types: Collection[ItemType]) -> tuple[FactKind, ...]:
    """Return the kinds of facts that the memories of these types have; nothing where a memory without a fact is among
    them, too."""
    return () if "fact" in types else tuple(kind for kind, name in _TYPE_OF_KIND.items() if name in types)


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedItem:
    """What the engine is given of an item: the scope of the call, and the candidate."""

    scope: Scope
    candidate: Candidate


def make_scope(owner: ItemOwner) -> Scope:
    """Return the scope of the engine in which the owner of items reads and writes. Raises BadInput for a name that
    cannot be stored."""
    return Scope(tenant=owner.tenant, owner=owner.user, actor=owner.user, project=owner.project, session=owner.session)


def map_item(item: MemoryItem, key: HostItemKey | None = None) -> MappedItem:
    """Return what the engine is given of an item. The `key` ties the memory to the id of the item.

    The vector of an item is left out: the engine makes its own, by its own model."""
    owner = ItemOwner(tenant=item.tenant_id, user=item.user_id, project=item.project_id, session=item.session_id)
    kind = KIND_OF_TYPE[item.type]
    marks: tuple[str, ...] = (f"{_MADE}{item.created_at.astimezone(UTC).isoformat()}",)
    if item.summary is not None:
        marks += (f"{_SUMMARY}{item.summary}",)
    candidate = Candidate(
        text=item.content,
        category=CATEGORIES[kind],
        fact=Fact(kind=kind, predicate=PREDICATES.get(kind, NOTE), object=item.content),
        importance=step_importance(item.importance),
        confidence=item.confidence,
        trust=item.source,
        role=ROLE_OF_SOURCE[item.source],
        pinned=item.pinned,
        tags=item.tags + marks,
        aliases=item.keywords,
        actor=item.user_id,
        project=item.project_id,
        reach=REACH_OF_SCOPE[item.scope],
        source=item.origin,
        expires_at=item.expires_at,
        item=None if key is None else replace(key, own_tags=marks),
    )
    return MappedItem(scope=make_scope(owner), candidate=candidate)


def make_item(memory: StoredMemory, *, tenant: str, user: str, item_id: str | None = None) -> MemoryItem:
    """Return a memory of a user as an item, under another id where one is given.

    A memory that no host has made has the type that fits its kind best, and what the engine knows of its times."""
    made = _find_marked(memory, _MADE)
    created_at = memory.created_at if made is None else (_parse_time(made) or memory.created_at)
    return MemoryItem(
        id=item_id or str(memory.id),
        tenant_id=tenant,
        user_id=user,
        project_id=memory.project_id,
        session_id=memory.session_id,
        scope=_SCOPE_OF_REACH[memory.reach],
        type="fact" if memory.fact is None else _TYPE_OF_KIND.get(memory.fact.kind, "fact"),
        content=memory.text,
        summary=_find_marked(memory, _SUMMARY),
        tags=tuple(tag for tag in memory.tags if not tag.startswith((_MADE, _SUMMARY))),
        keywords=memory.aliases,
        confidence=memory.confidence,
        importance=(memory.importance - 1) / _STEPS,
        source=memory.trust,
        origin=memory.source,
        created_at=created_at,
        updated_at=memory.updated_at if memory.updated_at > memory.created_at else None,
        last_accessed_at=memory.last_accessed_at,
        ttl=None if memory.expires_at is None else memory.expires_at - created_at,
        pinned=memory.pinned,
        deleted=memory.state == "soft_deleted",
    )


def make_key(item: MemoryItem) -> HostItemKey:
    """Return the key of an item: its id, and a digest of what it says, without what only counts its use.

    Raises BadInput for an id that is no UUID."""
    said = (
        item.type, item.scope, item.project_id, item.session_id, item.content, item.summary, item.tags, item.keywords,
        item.confidence, item.importance, item.source, item.origin, item.created_at.astimezone(UTC).isoformat(),
        None if item.ttl is None else item.ttl.total_seconds(), item.pinned,
    )  # fmt: skip
    return HostItemKey(id=parse_id(item.id), digest=hashlib.sha256(json.dumps(said).encode()).digest())


def parse_id(text: str) -> UUID:
    """Return the id of an item. Raises BadInput for what is no UUID; it says of the text only how long it is."""
    try:
        return UUID(text)
    except ValueError:
        raise BadInput(f"id: a UUID is wanted, a text of {len(text)} characters given") from None


def step_importance(importance: float) -> int:
    """Return the importance of a memory, 1 to 5, for that of an item in [0, 1]."""
    return 1 + round(_STEPS * importance)


def _find_marked(memory: StoredMemory, mark: str) -> str | None:
    return next((tag.removeprefix(mark) for tag in memory.tags if tag.startswith(mark)), None)


def _parse_time(text: str) -> datetime | None:
    """Return the time of a mark; None for a tag of somebody else that begins like one."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo else None
