"""LangMem: items of a store whose values have a `kind` and a `content`, and what its memory managers return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from muniment.faces.importing import fields
from muniment.faces.importing.formats import ImportFiles
from muniment.faces.importing.json_records import read_records
from muniment.faces.importing.langgraph_store import find_items, has_kinds, read_items, read_value
from muniment.memory.domain.layers.imports import ImportedMemory, ImportRecord, OmittedRecord
from muniment.memory.errors import BadInput

_ORIGIN = "langmem"
_EXTRACTED = frozenset({"id", "content"})


class LangMemFormat:
    """Memories of LangMem."""

    name = "langmem"
    title = "LangMem's memories"

    def recognize_files(self, source: ImportFiles) -> bool:
        """Return whether a file has items of LangMem, or memories as a manager returns them."""
        if find_items(source):
            return has_kinds(source)
        return any(layout.find_fields() == _EXTRACTED for layout in source.layouts.values())

    def read(self, source: ImportFiles) -> Iterator[ImportRecord]:
        """Yield each memory."""
        if find_items(source):
            yield from read_items(source, _ORIGIN)
            return
        for name in source.list_json():
            for number, value in read_records(source.files, name):
                yield _read_extracted(source, value, f"{name}, record {number}")


def _read_extracted(source: ImportFiles, value: Any, place: str) -> ImportRecord:
    """Return an `ExtractedMemory`, which is written as an object or as a pair."""
    if isinstance(value, list) and len(value) == 2:
        value = dict(zip(("id", "content"), value, strict=True))
    record = fields.check_object(value, place)
    content = record.get("content")
    if not isinstance(content, str | Mapping):
        raise BadInput(f"{place}: field 'content': text or an object wanted", field="content")
    text, tags = read_value(source, content)
    if problem := fields.find_problem(text):
        return OmittedRecord(place=place, reason=problem)
    return ImportedMemory(place=place, origin=_ORIGIN, key=fields.read_text(record, "id", place), text=text, tags=tags)
