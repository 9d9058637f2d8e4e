"""LangGraph's stores: items with `namespace`, `key` and `value`, as `Item.dict()` and a search give them, and rows of
the table `store`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from muniment.faces.importing import fields
from muniment.faces.importing.fields import Fields
from muniment.faces.importing.formats import ImportFiles
from muniment.faces.importing.json_records import read_records
from muniment.memory import codec
from muniment.memory.domain.layers.imports import ImportedMemory, ImportRecord, OmittedRecord
from muniment.memory.errors import BadInput

ITEM_FIELDS = frozenset({"key", "value"})
_TEXTS = ("content", "text", "memory", "data", "fact")
_LISTS = ("items", "results")
_KNOWN = frozenset({
    "namespace", "prefix", "key", "value", "created_at", "updated_at", "score", "expires_at", "ttl_minutes",
})  # fmt: skip


class LangGraphStoreFormat:
    """Items of a LangGraph store."""

    name = "langgraph-store"
    title = "items of a LangGraph store"

    def recognize_files(self, source: ImportFiles) -> bool:
        """Return whether a file has items, and their values are none of LangMem."""
        return find_items(source) and not has_kinds(source)

    def read(self, source: ImportFiles) -> Iterator[ImportRecord]:
        """Yield each item as a memory."""
        return read_items(source, "langgraph-store")


def find_items(source: ImportFiles) -> bool:
    """Return whether a file has items of a store."""
    return any(
        layout.find_fields(below) | (layout.fields if not below else frozenset()) >= ITEM_FIELDS
        for layout in source.layouts.values()
        for below in ("", *_LISTS)
    )


def has_kinds(source: ImportFiles) -> bool:
    """Return whether the first item of a file has a value of LangMem: a `kind` and a `content`."""
    for name in source.layouts:
        for _, value in read_records(source.files, name, _find_list(source, name)):
            item = value.get("value") if isinstance(value, Mapping) else None
            return isinstance(item, Mapping) and set(item) == {"kind", "content"}
    return False


def read_items(source: ImportFiles, origin: str) -> Iterator[ImportRecord]:
    """Yield the items of all files as memories of an origin."""
    for name in source.list_json():
        for number, value in read_records(source.files, name, _find_list(source, name)):
            place = f"{name}, record {number}"
            yield _read_item(source, fields.check_object(value, place), place, origin)


def _find_list(source: ImportFiles, name: str) -> str | None:
    layout = source.layouts.get(name)
    return next((below for below in _LISTS if layout is not None and layout.find_fields(below)), None)


def _read_item(source: ImportFiles, record: Fields, place: str, origin: str) -> ImportRecord:
    namespace, key = _read_namespace(record, place), fields.read_text(record, "key", place)
    if "value" not in record:
        raise BadInput(f"{place}: field 'value': is missing", field="value")
    source.unread.note_names(each for each in record if each not in _KNOWN)
    text, tags = read_value(source, record["value"])
    if problem := fields.find_problem(text):
        return OmittedRecord(place=place, reason=problem, owner=namespace)
    return ImportedMemory(
        place=place,
        origin=origin,
        key=f"{namespace}/{key}",
        text=text,
        at=fields.read_time(record, "updated_at", place) or fields.read_time(record, "created_at", place),
        ended_at=fields.read_time(record, "expires_at", place),
        tags=tags,
        owner=namespace,
    )


def _read_namespace(record: Fields, place: str) -> str:
    """Return the namespace with `/` between its parts; in a row of the table it is a text with dots."""
    value = record.get("namespace", record.get("prefix"))
    if isinstance(value, str):
        return value.replace(".", "/")
    if codec.is_text_list(value) and value:
        return "/".join(value)
    raise BadInput(
        f"{place}: field 'namespace': {codec.describe_shape(value)} given, a list of texts wanted", field="namespace"
    )


def read_value(source: ImportFiles, value: Any) -> tuple[str, tuple[str, ...]]:
    """Return the words of a value and tags of what else it has. A value without a text is written field by field."""
    if not isinstance(value, Mapping):
        return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)), ()
    if value.get("kind") and set(value) == {"kind", "content"}:
        text, tags = read_value(source, value["content"])
        return text, (f"kind: {value['kind']}", *tags)
    name = next((each for each in _TEXTS if isinstance(value.get(each), str) and value[each].strip()), None)
    if name is not None:
        return value[name], fields.make_tags(value, source.unread, skip=[name])
    return "\n".join(_write_field(key, each) for key, each in value.items() if each not in (None, "", [], {})), ()


def _write_field(name: str, value: Any) -> str:
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"{name.replace('_', ' ')}: {words}"
