"""Zep and Graphiti: facts (edges with the times between which they hold), episodes, and summaries of nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from muniment.faces.importing import fields
from muniment.faces.importing.fields import Fields
from muniment.faces.importing.formats import ImportFiles
from muniment.faces.importing.json_records import Layout, read_records
from muniment.memory.domain.layers.imports import ImportedMemory, ImportedMessage, ImportRecord, OmittedRecord
from muniment.memory.domain.memory import Role

_ORIGIN = "graphiti"
_LISTS = ("edges", "facts", "entity_edges", "episodes", "nodes", "entities")
# A line of a conversation, as Zep's service writes it: `Ana(user): words`. A name alone may stand before the colon.
_LINE = re.compile(
    r"^(?P<name>[^\n:(]{0,80})\((?P<role>user|assistant|system)\): |^(?P<alone>user|assistant): ", re.MULTILINE
)
_KNOWN = frozenset({
    "uuid", "name", "fact", "group_id", "source_node_uuid", "target_node_uuid", "created_at", "valid_at", "invalid_at",
    "expired_at", "reference_time", "episodes", "fact_embedding", "name_embedding", "labels", "summary", "content",
    "source", "source_description", "entity_edges", "attributes", "episode_metadata",
})  # fmt: skip


class GraphitiFormat:
    """Facts and episodes of Zep and Graphiti."""

    name = "graphiti"
    title = "facts and episodes of Zep and Graphiti"

    def recognize_files(self, source: ImportFiles) -> bool:
        """Return whether a file has facts or episodes."""
        return any(_find_lists(layout) for layout in source.layouts.values())

    def read(self, source: ImportFiles) -> Iterator[ImportRecord]:
        """Yield facts as memories, episodes of messages as messages, other episodes and summaries as memories."""
        for name in source.list_json():
            layout = source.layouts.get(name)
            for below in _find_lists(layout) or [None]:
                for number, value in read_records(source.files, name, below):
                    place = f"{name}, {below + ' ' if below else 'record '}{number}"
                    yield from _read_record(source, fields.check_object(value, place), place)


def _find_lists(layout: Layout | None) -> list[str | None]:
    """Return the lists of a file that have facts, episodes or nodes; None is the file itself."""
    if layout is None:
        return []
    lists: list[str | None] = [below for below in _LISTS if "uuid" in layout.find_fields(below)]
    shown = layout.find_fields() | layout.fields
    is_episode = {"content", "source_description"} <= shown
    return lists or ([None] if "uuid" in shown and ("fact" in shown or is_episode) else [])


def _read_record(source: ImportFiles, record: Fields, place: str) -> Iterator[ImportRecord]:
    source.unread.note_names(each for each in record if each not in _KNOWN)
    key = fields.read_text(record, "uuid", place)
    owner = fields.find_text(record, "group_id", place)
    if "fact" in record:
        yield _read_fact(source, record, place, key, owner)
    elif "content" in record:
        yield from _read_episode(source, record, place, key, owner)
    else:
        yield _read_node(source, record, place, key, owner)


def _read_fact(source: ImportFiles, record: Fields, place: str, key: str, owner: str | None) -> ImportRecord:
    """Return a fact; what has become invalid, or was replaced, ended then."""
    text = fields.read_text(record, "fact", place)
    if problem := fields.find_problem(text):
        return OmittedRecord(place=place, reason=problem, owner=owner)
    began = (fields.read_time(record, each, place) for each in ("valid_at", "reference_time", "created_at"))
    ended = (fields.read_time(record, each, place) for each in ("invalid_at", "expired_at"))
    name = fields.find_text(record, "name", place)
    attributes = fields.check_object(record.get("attributes") or {}, place)
    return ImportedMemory(
        place=place,
        origin=_ORIGIN,
        key=key,
        text=text,
        at=next((each for each in began if each is not None), None),
        ended_at=next((each for each in ended if each is not None), None),
        tags=((f"relation: {name}"[:120],) if name else ()) + fields.make_tags(attributes, source.unread),
        owner=owner,
    )


def _read_node(source: ImportFiles, record: Fields, place: str, key: str, owner: str | None) -> ImportRecord:
    summary = fields.find_text(record, "summary", place) or ""
    if problem := fields.find_problem(summary):
        return OmittedRecord(place=place, reason=f"a node whose summary {problem}", owner=owner)
    attributes = fields.check_object(record.get("attributes") or {}, place)
    text = f"{fields.read_text(record, 'name', place)}: {summary}"
    at = fields.read_time(record, "created_at", place)
    tags = ("summary", *fields.make_tags(attributes, source.unread))
    return ImportedMemory(place=place, origin=_ORIGIN, key=key, text=text, at=at, tags=tags, owner=owner)


def _read_episode(
    source: ImportFiles, record: Fields, place: str, key: str, owner: str | None
) -> Iterator[ImportRecord]:
    text = fields.read_text(record, "content", place)
    at = fields.read_time(record, "valid_at", place) or fields.read_time(record, "created_at", place)
    if problem := fields.find_problem(text):
        yield OmittedRecord(place=place, reason=problem, owner=owner)
        return
    lines = list(_LINE.finditer(text)) if record.get("source") == "message" else []
    if not lines or lines[0].start() > 0 or at is None:
        metadata = fields.check_object(record.get("episode_metadata") or {}, place)
        context = fields.find_text(record, "source_description", place)
        tags = ("episode", *fields.make_tags(metadata, source.unread))
        yield ImportedMemory(
            place=place, origin=_ORIGIN, key=key, text=text, at=at, tags=tags, context=context, owner=owner
        )
        return
    ends = [line.start() for line in lines[1:]] + [len(text)]
    for number, (line, end) in enumerate(zip(lines, ends, strict=True), 1):
        words, role = text[line.end() : end].strip(), line["role"] or line["alone"]
        where = f"{place}, message {number}"
        if role == "system":
            yield OmittedRecord(place=where, reason="a message of the system", owner=owner)
        elif problem := fields.find_problem(words):
            yield OmittedRecord(place=where, reason=problem, owner=owner)
        else:
            yield ImportedMessage(
                place=where,
                origin=_ORIGIN,
                conversation=owner or "graph",
                key=f"{key}/{number}",
                role=cast("Role", role),
                text=words,
                at=at,
                began_at=at,
                owner=owner,
            )
