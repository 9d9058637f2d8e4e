"""Items as JSON: the one shape of exports, of requests to a server and of what waits to be sent. Also what an item has
to be like before a store takes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any, get_args
from uuid import UUID

from muniment.memory.codec import describe_shape, is_storable
from muniment.memory.errors import BadInput
from muniment.plugin.domain.item import ITEM_SCOPES, ITEM_TYPES, ItemSource, MemoryItem

MAX_CONTENT_CHARS = 4_000  # a distilled statement is far shorter
MAX_NAME_CHARS = 500  # of a tenant, user, project, session or origin
MAX_WORD_CHARS = 100  # of a tag or a keyword
MAX_WORDS = 64  # tags or keywords of one item
MAX_TTL = timedelta(days=36_500)
ITEM_SOURCES: tuple[ItemSource, ...] = get_args(ItemSource)
_REQUIRED = ("id", "tenant_id", "user_id", "type", "content", "created_at")
_LATEST = datetime(9000, 1, 1, tzinfo=UTC)  # a later time cannot be added to
_Parse = Callable[[str, Any], Any]


def encode_item(item: MemoryItem) -> dict[str, Any]:
    """Return an item as JSON values: times as ISO 8601 in UTC, its ttl as seconds. Its vector is left out, because it
    means nothing to another model, and so is each field that has its default."""
    given: dict[str, Any] = {
        "id": item.id,
        "tenant_id": item.tenant_id,
        "user_id": item.user_id,
        "type": item.type,
        "content": item.content,
        "created_at": _format_time(item.created_at),
        "scope": item.scope,
        "confidence": item.confidence,
        "importance": item.importance,
        "source": item.source,
    }
    further: dict[str, Any] = {
        "project_id": item.project_id,
        "session_id": item.session_id,
        "summary": item.summary,
        "tags": list(item.tags) or None,
        "keywords": list(item.keywords) or None,
        "origin": item.origin,
        "updated_at": _format_time(item.updated_at) if item.updated_at else None,
        "last_accessed_at": _format_time(item.last_accessed_at) if item.last_accessed_at else None,
        "ttl": item.ttl.total_seconds() if item.ttl is not None else None,
        "pinned": item.pinned or None,
        "deleted": item.deleted or None,
    }
    return given | {name: value for name, value in further.items() if value is not None}


def decode_item(raw: object) -> MemoryItem:
    """Return the item of JSON values. Raises BadInput that names the field and the shape of its value."""
    if not isinstance(raw, Mapping):
        raise BadInput(f"item: {describe_shape(raw)} given, an object wanted")
    if unknown := [name for name in raw if name not in _PARSERS]:
        raise BadInput(f"item: has {len(unknown)} unknown fields; allowed: {', '.join(sorted(_PARSERS))}")
    if missing := [name for name in _REQUIRED if name not in raw]:
        raise BadInput(f"item: field {missing[0]!r} is missing")
    values = {name: _PARSERS[name](f"item.{name}", value) for name, value in raw.items() if value is not None}
    if missing := [name for name in _REQUIRED if name not in values]:
        raise BadInput(f"item.{missing[0]}: nothing given, a value wanted")
    item = MemoryItem(**values)
    check_item(item)
    return item


def check_item(item: MemoryItem) -> None:
    """Raise BadInput for an item that no store takes; its message names the field and the shape of the value."""
    _check_texts(item)
    for name, kind in (("scope", ITEM_SCOPES), ("type", ITEM_TYPES), ("source", ITEM_SOURCES)):
        _choose(kind)(f"item.{name}", getattr(item, name))
    for name in ("confidence", "importance"):
        _parse_share(f"item.{name}", getattr(item, name))
    for name in ("created_at", "updated_at", "last_accessed_at"):
        _check_time(f"item.{name}", getattr(item, name))
    if item.ttl is not None and not timedelta(0) < item.ttl <= MAX_TTL:
        raise BadInput(f"item.ttl: more than 0 and at most {MAX_TTL.days:,} days wanted")
    if item.scope == "project" and item.project_id is None:
        raise BadInput("item.project_id: nothing given; an item of the scope `project` has one")
    if item.scope == "session" and item.session_id is None:
        raise BadInput("item.session_id: nothing given; an item of the scope `session` has one")


def _check_texts(item: MemoryItem) -> None:
    for name in ("tenant_id", "user_id", "project_id", "session_id", "origin"):
        if (value := getattr(item, name)) is not None:
            _check_text(f"item.{name}", value, MAX_NAME_CHARS)
    _parse_id("item.id", item.id)
    if item.content or not item.deleted:  # of a forgotten item nothing is kept
        _check_text("item.content", item.content, MAX_CONTENT_CHARS)
    if item.summary is not None:
        _check_text("item.summary", item.summary, MAX_CONTENT_CHARS)
    _parse_words("item.tags", item.tags)
    _parse_words("item.keywords", item.keywords)


def _format_time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat()


def _check_text(name: str, value: object, most: int) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"{name}: {describe_shape(value)} given, a text wanted")
    if len(value) > most:
        raise BadInput(f"{name}: {len(value):,} characters given, at most {most:,} wanted")
    if not is_storable(value):
        raise BadInput(f"{name}: has a character that cannot be stored")
    return value


def _parse_name(name: str, value: object) -> str:
    return _check_text(name, value, MAX_NAME_CHARS)


def _parse_id(name: str, value: object) -> str:
    if isinstance(value, str):
        try:
            if str(UUID(value)) == value:
                return value
        except ValueError:
            pass
    raise BadInput(f"{name}: {describe_shape(value)} given, a UUID in its usual form wanted")


def _parse_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadInput(f"{name}: {describe_shape(value)} given, a text wanted")
    return value


def _parse_words(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or len(value) > MAX_WORDS:
        shape = f"{len(value)} texts" if isinstance(value, list | tuple) else describe_shape(value)
        raise BadInput(f"{name}: {shape} given, a list of at most {MAX_WORDS} texts wanted")
    return tuple(_check_text(name, word, MAX_WORD_CHARS) for word in value)


def _parse_share(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:  # NaN is not, either
        raise BadInput(f"{name}: {describe_shape(value)} given, a number from 0 to 1 wanted")
    return float(value)


def _parse_flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"{name}: {describe_shape(value)} given, true or false wanted")
    return value


def _parse_time(name: str, value: object) -> datetime:
    if isinstance(value, str):
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            pass
        else:
            _check_time(name, time)
            return time.astimezone(UTC)
    raise BadInput(f"{name}: {describe_shape(value)} given, an ISO 8601 time with its zone wanted")


def _check_time(name: str, time: datetime | None) -> None:
    if time is None:
        return
    if time.tzinfo is None:
        raise BadInput(f"{name}: has no time zone")
    if not 1 < time.year < _LATEST.year:
        raise BadInput(f"{name}: the year {time.year} given, 2 to {_LATEST.year - 1} wanted")


def _parse_ttl(name: str, value: object) -> timedelta:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise BadInput(f"{name}: {describe_shape(value)} given, seconds wanted")
    if not 0 < value <= MAX_TTL.total_seconds():
        raise BadInput(f"{name}: {describe_shape(value)} given, more than 0 and at most {MAX_TTL.days:,} days wanted")
    return timedelta(seconds=value)


def _choose(allowed: Sequence[str]) -> _Parse:
    def parse(name: str, value: object) -> Any:
        if value not in allowed or not isinstance(value, str):
            raise BadInput(f"{name}: {describe_shape(value)} given; allowed: {', '.join(allowed)}")
        return value

    return parse


_PARSERS: Mapping[str, _Parse] = {
    "id": _parse_id,
    "tenant_id": _parse_name,
    "user_id": _parse_name,
    "type": _choose(ITEM_TYPES),
    "content": _parse_text,
    "created_at": _parse_time,
    "scope": _choose(ITEM_SCOPES),
    "project_id": _parse_name,
    "session_id": _parse_name,
    "summary": _parse_text,
    "tags": _parse_words,
    "keywords": _parse_words,
    "confidence": _parse_share,
    "importance": _parse_share,
    "source": _choose(ITEM_SOURCES),
    "origin": _parse_name,
    "updated_at": _parse_time,
    "last_accessed_at": _parse_time,
    "ttl": _parse_ttl,
    "pinned": _parse_flag,
    "deleted": _parse_flag,
}
