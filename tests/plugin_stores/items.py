"""Items and queries of the tests of stores."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from muniment.plugin.domain.item import ItemOwner, ListQuery, MemoryItem, SearchQuery

START = datetime(2026, 11, 12, 9, tzinfo=UTC)
ANA = ItemOwner(user="ana", tenant="acme", project="shop", session="s1")


def make_item(content: str, *, owner: ItemOwner = ANA, days: float = 0, **fields: Any) -> MemoryItem:
    """An item of the owner, said so many days after the start."""
    given: dict[str, Any] = {
        "id": str(uuid4()),
        "tenant_id": owner.tenant,
        "user_id": owner.user,
        "type": "decision",
        "content": content,
        "created_at": START + timedelta(days=days),
    }
    given |= fields
    if given.get("scope") == "project":
        given.setdefault("project_id", owner.project)
    if given.get("scope") == "session":
        given.setdefault("session_id", owner.session)
    return MemoryItem(**given)


def make_id(number: int) -> str:
    """The id of a number, so that the order of ids is that of the numbers."""
    return str(UUID(int=number))


def ask(text: str, *, owner: ItemOwner = ANA, days: float = 1, **fields: Any) -> SearchQuery:
    """A query of the owner, so many days after the start."""
    return SearchQuery(owner=owner, text=text, at=START + timedelta(days=days), **fields)


def everything(*, owner: ItemOwner = ANA, days: float = 1, **fields: Any) -> ListQuery:
    """A list of what the owner has, so many days after the start."""
    return ListQuery(owner=owner, at=START + timedelta(days=days), **({"limit": 10_000} | fields))
