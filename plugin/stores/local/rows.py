"""Rows of the file as items, and items as rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any

from muniment.memory.rules.statements.parse import normalize_sentence
from muniment.plugin.domain.item import ItemOwner, MemoryItem
from muniment.plugin.stores.local.statements import load_statements
from muniment.plugin.stores.scoring import list_item_lexemes

SQL: Mapping[str, str] = load_statements(__package__, "items")
GLOBAL = ""  # the place of what is found everywhere
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DIGEST_BYTES = 16
# The columns of `item` in the order of the table.
_COLUMNS = (
    "n", "space", "id", "type", "scope", "project", "session", "place", "content", "summary", "tags", "keywords",
    "confidence", "importance", "source", "origin", "created", "updated", "accessed", "expires", "forgotten", "fetched",
    "pinned", "changed", "revision", "sameness", "words",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRow:
    """A row of `item`: the item, and what the store keeps beside it."""

    n: int
    item: MemoryItem
    words: str
    changed: int
    place: str
    revision: int
    sameness: bytes
    fetched_at: datetime | None


def to_microseconds(time: datetime) -> int:
    """Return the microseconds from 1970 to a time."""
    return (time - _EPOCH) // _MICROSECOND


def from_microseconds(value: int) -> datetime:
    """Return the time of so many microseconds from 1970, in UTC."""
    return _EPOCH + value * _MICROSECOND


def get_place(item: MemoryItem) -> str:
    """Return where an item is found."""
    if item.scope == "project":
        return f"p:{item.project_id}"
    return f"s:{item.session_id}" if item.scope == "session" else GLOBAL


def bind_places(owner: ItemOwner) -> dict[str, Any]:
    """Return the parameters for the places that a call of the owner reads; None equals no place."""
    return {
        "global": GLOBAL,
        "project": None if owner.project is None else f"p:{owner.project}",
        "session": None if owner.session is None else f"s:{owner.session}",
    }


def join_names(names: tuple[str, ...]) -> str | None:
    """Return names between commas, as a statement looks for one in them; None for no names, which filter nothing."""
    return f",{','.join(names)}," if names else None


def digest_content(salt: bytes, content: str) -> bytes:
    """Return the keyed digest of a content, whatever its case, spaces and full stop."""
    return _digest(salt, normalize_sentence(content))


def digest_sameness(salt: bytes, item: MemoryItem) -> bytes:
    """Return the keyed digest of an item's type, place and content: two items with one digest are the same fact."""
    return _digest(salt, json.dumps([item.type, get_place(item), normalize_sentence(item.content)]))


def _digest(salt: bytes, text: str) -> bytes:
    return blake2b(text.encode(), key=salt, digest_size=_DIGEST_BYTES).digest()


def bind_item(item: MemoryItem, salt: bytes, *, fetched_at: datetime | None) -> dict[str, Any]:
    """Return the parameters of a row for an item, without those that the place in the file decides."""
    lexemes = list_item_lexemes(item.content, item.summary, item.tags, item.keywords)
    changed = item.updated_at or item.created_at
    return {
        "id": item.id,
        "type": item.type,
        "scope": item.scope,
        "project": item.project_id,
        "session": item.session_id,
        "place": get_place(item),
        "content": item.content,
        "summary": item.summary,
        "tags": json.dumps(item.tags, ensure_ascii=False),
        "keywords": json.dumps(item.keywords, ensure_ascii=False),
        "confidence": item.confidence,
        "importance": item.importance,
        "source": item.source,
        "origin": item.origin,
        "created": to_microseconds(item.created_at),
        "updated": None if item.updated_at is None else to_microseconds(item.updated_at),
        "accessed": None if item.last_accessed_at is None else to_microseconds(item.last_accessed_at),
        "expires": None if item.expires_at is None else to_microseconds(item.expires_at),
        "fetched": None if fetched_at is None else to_microseconds(fetched_at),
        "pinned": item.pinned,
        "changed": to_microseconds(changed),
        "sameness": digest_sameness(salt, item),
        "words": " ".join(lexemes),
    }


def parse_row(values: tuple[Any, ...], owner: ItemOwner) -> ItemRow:
    """Return a row of `item`. The owner is the one whose space was read."""
    row = dict(zip(_COLUMNS, values, strict=True))
    times = {
        name: None if row[name] is None else from_microseconds(row[name])
        for name in ("updated", "accessed", "expires", "fetched")
    }
    created = from_microseconds(row["created"])
    item = MemoryItem(
        id=row["id"],
        tenant_id=owner.tenant,
        user_id=owner.user,
        type=row["type"],
        content=row["content"],
        created_at=created,
        scope=row["scope"],
        project_id=row["project"],
        session_id=row["session"],
        summary=row["summary"],
        tags=tuple(json.loads(row["tags"])),
        keywords=tuple(json.loads(row["keywords"])),
        confidence=row["confidence"],
        importance=row["importance"],
        source=row["source"],
        origin=row["origin"],
        updated_at=times["updated"],
        last_accessed_at=times["accessed"],
        ttl=None if times["expires"] is None else times["expires"] - created,
        pinned=bool(row["pinned"]),
        deleted=row["forgotten"] is not None,
    )
    return ItemRow(
        n=row["n"],
        item=item,
        words=row["words"],
        changed=row["changed"],
        place=row["place"],
        revision=row["revision"],
        sameness=row["sameness"],
        fetched_at=times["fetched"],
    )
