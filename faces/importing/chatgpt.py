"""ChatGPT's export: `conversations.json` with the tree of each conversation, and files of saved memories.

Of a tree the branch that `current_node` names is what was said. What the assistant sent to its tool `bio` is a saved
memory, and so are the instructions that a user gave for all conversations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from muniment.faces.importing import fields
from muniment.faces.importing.fields import Fields
from muniment.faces.importing.formats import ImportFiles
from muniment.faces.importing.json_records import read_records
from muniment.memory.domain.layers.imports import ImportedMemory, ImportedMessage, ImportRecord, OmittedRecord
from muniment.memory.domain.memory import Role
from muniment.memory.errors import BadInput

_ORIGIN = "chatgpt"
_SPOKEN = ("user", "assistant")
_REASONING = ("thoughts", "reasoning_recap")
_MEMORY_TEXTS = ("content", "memory", "text")
_MEMORY_TIMES = ("created_at", "create_time", "created_timestamp", "updated_at")
_INSTRUCTIONS = ("user_profile", "user_instructions", "about_user_message", "about_model_message")


@dataclass(frozen=True, slots=True)
class _Talk:
    """A conversation: its id, the place in its file, and when it began."""

    id: str
    place: str
    began_at: datetime | None


class ChatGptFormat:
    """The export of ChatGPT."""

    name = "chatgpt"
    title = "ChatGPT's export"

    def recognize_files(self, source: ImportFiles) -> bool:
        """Return whether a file has conversations with a tree."""
        return any(
            "mapping" in layout.find_fields() | layout.find_fields("conversations") | layout.fields
            for layout in source.layouts.values()
        )

    def read(self, source: ImportFiles) -> Iterator[ImportRecord]:
        """Yield the messages of the conversations, and the saved memories."""
        for name in source.list_json():
            layout = source.layouts.get(name)
            base = name.rpartition("/")[2].lower()
            if base.startswith(("memory", "memories", "saved_memories")):
                below = "memories" if layout is not None and "memories" in layout.fields else None
                yield from _read_memories(source, name, below)
            elif layout is None or "mapping" in layout.find_fields() | layout.fields:
                yield from _read_conversations(source, name, None)
            elif "mapping" in layout.find_fields("conversations"):
                yield from _read_conversations(source, name, "conversations")
            elif len(source.files.names) == 1:
                yield from _read_conversations(source, name, None)
            else:
                source.unread.note_names([f"file {base}"])


def _read_conversations(source: ImportFiles, name: str, below: str | None) -> Iterator[ImportRecord]:
    for number, value in read_records(source.files, name, below):
        place = f"{name}, conversation {number}"
        record = fields.check_object(value, place)
        id_ = record.get("conversation_id") or record.get("id")
        if not isinstance(id_, str):
            raise BadInput(f"{place}: field 'conversation_id': text wanted", field="conversation_id")
        nodes = record.get("mapping")
        if not isinstance(nodes, Mapping):
            raise BadInput(f"{place}: field 'mapping': an object of nodes wanted", field="mapping")
        began_at = fields.read_time(record, "create_time", place)
        yield from _read_tree(source, record, nodes, _Talk(id_, place, began_at))


def _read_tree(source: ImportFiles, record: Fields, nodes: Fields, talk: _Talk) -> Iterator[ImportRecord]:
    """Yield the messages of the branch that is current, oldest first, and what is left out."""
    path = _find_path(record, nodes, talk.place)
    followed = set(path)
    left = [id_ for id_ in nodes if id_ not in followed]
    at, began_at = talk.began_at, talk.began_at
    for number, id_ in enumerate(path, 1):
        place = f"{talk.place}, message {number}"
        node = fields.check_object(nodes[id_], place)
        if node.get("message") is None:
            continue  # a node that only holds the tree together
        message = fields.check_object(node["message"], place)
        at = fields.read_time(message, "create_time", place) or at
        began_at = began_at or at
        yield _read_message(source, message, _Talk(talk.id, place, began_at), id_, at)
    for id_ in left:
        if isinstance(nodes[id_], Mapping) and nodes[id_].get("message") is not None:
            yield OmittedRecord(place=talk.place, reason="on a branch that was left")


def _find_path(record: Fields, nodes: Fields, place: str) -> list[str]:
    """Return the ids from the root to the current node. Raises BadInput for a tree that is none."""
    last = record.get("current_node")
    if last is None:
        named = (node.get("parent") for node in nodes.values() if isinstance(node, Mapping))
        parents = {parent for parent in named if isinstance(parent, str)}
        leaves = [id_ for id_ in nodes if id_ not in parents]
        last = leaves[-1] if leaves else None
    path: list[str] = []
    seen: set[str] = set()
    while last is not None:
        if not isinstance(last, str) or last not in nodes or not isinstance(nodes[last], Mapping):
            what = "current_node" if not path else "parent"
            raise BadInput(f"{place}: field {what!r}: names no node of the mapping", field=what)
        if last in seen:
            raise BadInput(f"{place}: field 'parent': the tree has a circle", field="parent")
        seen.add(last)
        path.append(last)
        last = nodes[last].get("parent")
    return path[::-1]


def _read_message(source: ImportFiles, message: Fields, talk: _Talk, node: str, at: datetime | None) -> ImportRecord:
    place = talk.place
    author = fields.check_object(message.get("author") or {}, place)
    role = author.get("role")
    content = fields.check_object(message.get("content") or {}, place)
    kind = content.get("content_type")
    if kind == "user_editable_context":
        texts = [content[each] for each in _INSTRUCTIONS if isinstance(content.get(each), str)]
        return _make_memory(place, "custom-instructions", "\n".join(texts), at)
    text = _read_content(source, content, place)
    if role == "assistant" and message.get("recipient") == "bio":
        return _make_memory(place, node, text, at)
    if reason := _find_omission(message, role, kind, text):
        return OmittedRecord(place=place, reason=reason)
    if at is None or talk.began_at is None:
        return OmittedRecord(place=place, reason="has no time")
    return ImportedMessage(
        place=place,
        origin=_ORIGIN,
        conversation=talk.id,
        key=node,
        role=cast("Role", role),
        text=text,
        at=at,
        began_at=talk.began_at,
    )


def _find_omission(message: Fields, role: Any, kind: Any, text: str) -> str | None:
    """Return why a message is not part of what was said."""
    metadata = message.get("metadata") if isinstance(message.get("metadata"), Mapping) else {}
    if role not in _SPOKEN:
        return f"a message of the {role}" if role in ("system", "tool") else "a message of nobody that is known"
    if metadata and metadata.get("is_visually_hidden_from_conversation"):
        return "hidden in the conversation"
    if kind in _REASONING:
        return "the model's reasoning"
    if message.get("recipient") not in (None, "all"):
        return "sent to a tool"
    return fields.find_problem(text)


def _read_content(source: ImportFiles, content: Fields, place: str) -> str:
    """Return the words of a content; images and other parts without words are noted."""
    if isinstance(content.get("text"), str):
        return str(content["text"])
    texts: list[str] = []
    for part in fields.read_list(content, "parts", place):
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping) and isinstance(part.get("text"), str):
            texts.append(part["text"])  # what was spoken
        elif isinstance(part, Mapping):
            source.unread.note_names([str(part.get("content_type") or "part")[:40]])
    return "\n".join(each for each in texts if each)


def _make_memory(place: str, key: str, text: str, at: datetime | None) -> ImportRecord:
    if problem := fields.find_problem(text):
        return OmittedRecord(place=place, reason=problem)
    return ImportedMemory(place=place, origin=_ORIGIN, key=key, text=text, at=at, tags=("saved memory",))


def _read_memories(source: ImportFiles, name: str, below: str | None) -> Iterator[ImportRecord]:
    """Yield the saved memories of a file: texts, or objects with a text and perhaps an id and a time."""
    for number, value in read_records(source.files, name, below):
        place = f"{name}, record {number}"
        record = {"content": value} if isinstance(value, str) else fields.check_object(value, place)
        field = next((each for each in _MEMORY_TEXTS if each in record), "content")
        text = fields.read_text(record, field, place)
        time = next((each for each in _MEMORY_TIMES if record.get(each) is not None), "created_at")
        key = record.get("id") if isinstance(record.get("id"), str) else f"record-{number}"
        yield _make_memory(place, str(key), text, fields.read_time(record, time, place))
