"""Items, owners and operations of the tests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from muniment.plugin.domain.item import ItemOwner, ListQuery, MemoryItem, SearchQuery
from muniment.plugin.domain.operation import Operation, OperationVerb

NOW = datetime.now(UTC).replace(microsecond=0)


def make_owner(user: str, **more: Any) -> ItemOwner:
    values: dict[str, Any] = {"user": user, "tenant": "acme"}
    return ItemOwner(**values | more)


def make_rule(content: str, owner: ItemOwner, **more: Any) -> MemoryItem:
    """An item of the owner, a rule unless another type is given."""
    values: dict[str, Any] = {
        "id": str(uuid4()), "tenant_id": owner.tenant, "user_id": owner.user, "project_id": owner.project,
        "session_id": owner.session, "type": "rule", "content": content, "created_at": NOW,
    }  # fmt: skip
    return MemoryItem(**values | more)


def ask(text: str, owner: ItemOwner, **more: Any) -> SearchQuery:
    values: dict[str, Any] = {"owner": owner, "text": text, "at": NOW, "min_score": 0.05}
    return SearchQuery(**values | more)


def every(owner: ItemOwner, **more: Any) -> ListQuery:
    values: dict[str, Any] = {"owner": owner, "at": NOW, "everywhere": True}
    return ListQuery(**values | more)


def do(verb: OperationVerb, item: MemoryItem, owner: ItemOwner, **more: Any) -> Operation:
    given = item if verb == "upsert" else None
    values: dict[str, Any] = {"id": str(uuid4()), "owner": owner, "verb": verb, "item_id": item.id, "item": given}
    return Operation(**values | more)
