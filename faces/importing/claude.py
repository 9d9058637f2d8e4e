"""Claude's export: `conversations.json`, `memories.json` and `projects.json`."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from muniment.faces.importing import fields
from muniment.faces.importing.fields import Fields
from muniment.faces.importing.formats import ImportFiles
from muniment.faces.importing.json_records import read_records
from muniment.faces.importing.markdown_blocks import list_blocks
from muniment.memory.domain.layers.imports import ImportedMemory, ImportedMessage, ImportRecord, OmittedRecord
from muniment.memory.domain.memory import Role
from muniment.memory.errors import BadInput

_ORIGIN = "claude"
_ROLES: Mapping[str, Role] = {"human": "user", "assistant": "assistant"}
_MEMORY_FIELDS = frozenset({"conversations_memory", "project_memories"})
_PROJECT_FIELDS = frozenset({"prompt_template", "docs"})


class ClaudeFormat:
    """The export of Claude."""

    name = "claude"
    title = "Claude's export"

    def recognize_files(self, source: ImportFiles) -> bool:
        """Return whether a file has conversations with `chat_messages`, or memories of conversations."""
        return any(
            "chat_messages" in shown or shown & _MEMORY_FIELDS
            for layout in source.layouts.values()
            for shown in (layout.find_fields() | layout.fields,)
        )

    def read(self, source: ImportFiles) -> Iterator[ImportRecord]:
        """Yield the messages, the memories and the instructions of the projects."""
        for name in source.list_json():
            layout = source.layouts.get(name)
            shown = layout.find_fields() | layout.fields if layout is not None else frozenset()
            if shown & _MEMORY_FIELDS:
                yield from _read_memories(source, name)
            elif shown & _PROJECT_FIELDS:
                yield from _read_projects(source, name)
            elif "chat_messages" in shown or len(source.files.names) == 1 or layout is None:
                yield from _read_conversations(source, name)
            else:
                source.unread.note_names([f"file {name.rpartition('/')[2].lower()}"])


def _read_conversations(source: ImportFiles, name: str) -> Iterator[ImportRecord]:
    for number, value in read_records(source.files, name):
        place = f"{name}, conversation {number}"
        record = fields.check_object(value, place)
        id_ = fields.read_text(record, "uuid", place)
        messages = [
            fields.check_object(each, f"{place}, message {n}")
            for n, each in enumerate(fields.read_list(record, "chat_messages", place), 1)
        ]
        at = began_at = fields.read_time(record, "created_at", place)
        current = _find_current(record, messages)
        for n, message in enumerate(messages, 1):
            where = f"{place}, message {n}"
            key = fields.read_text(message, "uuid", where)
            if current is not None and key not in current:
                yield OmittedRecord(place=where, reason="on a branch that was left")
                continue
            at = fields.read_time(message, "created_at", where) or at
            began_at = began_at or at
            yield _read_message(source, message, id_, where, (began_at, at))


def _find_current(record: Fields, messages: Sequence[Fields]) -> set[Any] | None:
    """Return the ids of the messages of the current branch, None where the file names none."""
    leaf = record.get("current_leaf_message_uuid")
    parents = {each["uuid"]: each.get("parent_message_uuid") for each in messages if isinstance(each.get("uuid"), str)}
    if not isinstance(leaf, str) or leaf not in parents:
        return None
    current: set[Any] = set()
    while isinstance(leaf, str) and leaf in parents and leaf not in current:
        current.add(leaf)
        leaf = parents[leaf]
    return current


def _read_message(
    source: ImportFiles, message: Fields, conversation: str, place: str, times: tuple[datetime | None, datetime | None]
) -> ImportRecord:
    sender = fields.read_text(message, "sender", place)
    key = fields.read_text(message, "uuid", place)
    text = _read_content(source, message, place)
    role = _ROLES.get(sender)
    if role is None:
        return OmittedRecord(place=place, reason="a message of nobody that is known")
    if problem := fields.find_problem(text):
        return OmittedRecord(place=place, reason=problem)
    began_at, at = times
    if at is None or began_at is None:
        return OmittedRecord(place=place, reason="has no time")
    return ImportedMessage(
        place=place, origin=_ORIGIN, conversation=conversation, key=key, role=role, text=text, at=at, began_at=began_at
    )


def _read_content(source: ImportFiles, message: Fields, place: str) -> str:
    """Return the words of a message: its blocks of text, else its text. What else it has is noted."""
    for name in ("attachments", "files", "files_v2"):
        source.unread.note_names([name] if fields.read_list(message, name, place) else [])
    texts: list[str] = []
    for block in fields.read_list(message, "content", place):
        if isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif isinstance(block, Mapping):
            source.unread.note_names([str(block.get("type") or "block")[:40]])
    return "\n".join(texts) if texts else fields.find_text(message, "text", place) or ""


def _read_memories(source: ImportFiles, name: str) -> Iterator[ImportRecord]:
    for number, value in read_records(source.files, name):
        place = f"{name}, record {number}"
        record = fields.check_object(value, place)
        owner = fields.find_text(record, "account_uuid", place)
        parts = {"conversations": fields.find_text(record, "conversations_memory", place) or ""}
        projects = record.get("project_memories") or {}
        if not isinstance(projects, Mapping):
            raise BadInput(f"{place}: field 'project_memories': an object wanted", field="project_memories")
        parts |= {f"project {id_}": fields.read_text(projects, id_, place) for id_ in projects}
        for part, text in parts.items():
            yield from make_memories(_ORIGIN, part, text, place, owner=owner)


def _read_projects(source: ImportFiles, name: str) -> Iterator[ImportRecord]:
    for number, value in read_records(source.files, name):
        place = f"{name}, project {number}"
        record = fields.check_object(value, place)
        id_ = fields.read_text(record, "uuid", place)
        at = fields.read_time(record, "updated_at", place) or fields.read_time(record, "created_at", place)
        title = fields.find_text(record, "name", place) or id_
        instructions = fields.find_text(record, "prompt_template", place) or ""
        yield from make_memories(_ORIGIN, f"instructions {id_}", instructions, place, at=at, context=title)
        for _ in fields.read_list(record, "docs", place):
            yield OmittedRecord(place=place, reason="a document of a project, which is no memory")


def make_memories(
    origin: str,
    part: str,
    text: str,
    place: str,
    *,
    at: datetime | None = None,
    owner: str | None = None,
    role: Role = "user",
    context: str = "",
    tags: tuple[str, ...] = (),
) -> Iterator[ImportRecord]:
    """Yield the blocks of a text in Markdown as memories of one part of a source."""
    for number, block in enumerate(list_blocks(io.StringIO(text)), 1):
        where = f"{place}, {part.split(maxsplit=1)[0]} {number}"
        if problem := fields.find_problem(block.text):
            yield OmittedRecord(place=where, reason=problem, owner=owner)
            continue
        yield ImportedMemory(
            place=where,
            origin=origin,
            key=f"{part}/{number}",
            text=block.text,
            role=role,
            at=at,
            tags=tags,
            context=" > ".join(each for each in (context, block.headings) if each) or None,
            owner=owner,
        )
