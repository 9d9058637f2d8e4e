"""`memory_records`: the rows of a former design, read into rows of an import.

A row has `content`, perhaps `metadata` with a `fact`, `key` such as `user.preference.language`, `importance` from 0 to
1 or from 1 to 5, `created_at`, and `is_active`: what is not active is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from muniment.memory.domain.memory import FACT_KINDS, LEGACY_TAG
from muniment.memory.errors import BadInput

_TEXTS = ("content", "text", "memory")
_SOURCE = "memory_records"
FIELDS = (*_TEXTS, "id", "key", "metadata", "importance", "created_at", "is_active")
_FACT_FIELDS = ("predicate", "object", "subject", "persons", "entities", "location", "topic", "single", "negated")


def convert_records(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield each active row as one of an import, with the tag of what is from a former design. Raises BadInput."""
    for number, row in enumerate(rows, 1):
        if row.get("is_active", True) is not False:
            yield _convert_record(row, number)


def _convert_record(row: Mapping[str, Any], number: int) -> dict[str, Any]:
    text = next((row[name] for name in _TEXTS if isinstance(row.get(name), str) and row[name].strip()), None)
    if text is None:
        raise BadInput(f"row {number}: content: is missing", row=number, field="content")
    metadata = row.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise BadInput(f"row {number}: metadata: an object wanted", row=number, field="metadata")
    id_ = row.get("id") or row.get("key")
    converted: dict[str, Any] = {"text": text, "tags": [LEGACY_TAG]}
    converted["source"] = f"{_SOURCE}/{id_}" if isinstance(id_, str | int) else _SOURCE
    if (at := row.get("created_at")) is not None:
        converted["event_time"] = at
    if isinstance(importance := row.get("importance"), int | float) and not isinstance(importance, bool):
        is_share = isinstance(importance, float) and importance <= 1
        converted["importance"] = min(5, max(1, round(1 + 4 * importance) if is_share else round(importance)))
    if fact := _convert_fact(metadata.get("fact"), row.get("key")):
        converted |= {"fact": fact, "kind": "semantic"}
    return converted


def _convert_fact(raw: Any, key: Any) -> dict[str, Any] | None:
    """Return the structure of a row; None without one that is known. `user.preference.KEY` with a value is one, too."""
    if not isinstance(raw, Mapping):
        return None
    kind = raw.get("fact_kind") or raw.get("kind")
    predicate = raw.get("predicate") or (key.rsplit(".", 1)[-1] if isinstance(key, str) else raw.get("key"))
    value = raw.get("object") or raw.get("value")
    if kind not in FACT_KINDS or not isinstance(predicate, str) or not isinstance(value, str):
        return None
    known = {name: raw[name] for name in _FACT_FIELDS if raw.get(name) is not None}
    return known | {"kind": kind, "predicate": predicate, "object": value}
