"""Letta's agent files (`.af`): one agent with `core_memory`, or several with `agents` and `blocks` beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, cast

from muniment.faces.importing import fields
from muniment.faces.importing.claude import make_memories
from muniment.faces.importing.fields import Fields
from muniment.faces.importing.formats import ImportFiles
from muniment.faces.importing.json_records import read_parts, read_records
from muniment.memory.domain.layers.imports import ImportedMessage, ImportRecord, OmittedRecord
from muniment.memory.domain.memory import Role
from muniment.memory.errors import TooLarge

_ORIGIN = "letta"
_HUMAN = "human"  # the label of the block about the user; every other block is the agent's own
_SPEAKING = "send_message"  # the tool by which an agent speaks
_ONE_AGENT = frozenset({"agent_type", "core_memory"})
_SPOKEN = ("user", "assistant")
_SILENT = ("system", "tool", "function", "approval", "summary")
_MAX_AGENTS = 100_000
_OTHERS = ("tools", "groups", "sources", "mcp_servers")


class LettaFormat:
    """Agent files of Letta."""

    name = "letta"
    title = "Letta's agent files"

    def recognize_files(self, source: ImportFiles) -> bool:
        """Return whether a file has one agent, or lists of agents and blocks."""
        return any(
            shown & _ONE_AGENT or {"agents", "blocks"} <= shown
            for layout in source.layouts.values()
            for shown in (layout.fields,)
        ) or any(name.lower().endswith(".af") for name in source.files.names)

    def read(self, source: ImportFiles) -> Iterator[ImportRecord]:
        """Yield the blocks of memory and the messages."""
        for name in source.list_json():
            layout = source.layouts.get(name)
            if layout is not None and layout.fields & _ONE_AGENT:
                yield from _read_agents(source, name, "", "core_memory")
                continue
            yield from _read_agents(source, name, "agents.item", "memory_blocks")
            for number, value in read_records(source.files, name, "blocks"):
                yield from _read_block(value, f"{name}, block {number}", "")
            for number, _ in read_records(source.files, name, "files"):
                yield OmittedRecord(place=f"{name}, file {number}", reason="a file of an agent, which is no memory")
            source.unread.note_names(each for each in _OTHERS if layout is not None and each in layout.fields)


def _read_agents(source: ImportFiles, name: str, holder: str, blocks: str) -> Iterator[ImportRecord]:
    """Yield the blocks of all agents, then their messages, each read by itself: an agent may be of any size."""
    start = f"{holder}." if holder else ""
    agents: dict[int, str] = {}
    for field in ("name", "id"):
        for number, value in read_parts(source.files, name, f"{start}{field}", holder):
            if isinstance(value, str):
                agents[number] = value
            if len(agents) > _MAX_AGENTS:
                raise TooLarge(f"{name}: has more than {_MAX_AGENTS:,} agents")
    for (number, n), value in _count_parts(source, name, f"{start}{blocks}.item", holder):
        place = f"{name}, agent {number}, block {n}"
        yield from _read_block(value, place, agents.get(number, f"agent-{number}"))
    began_at = None
    for (number, n), value in _count_parts(source, name, f"{start}messages.item", holder):
        place = f"{name}, agent {number}, message {n}"
        message = fields.check_object(value, place)
        at = fields.read_time(message, "created_at", place)
        began_at = at if n == 1 else began_at or at
        agent = agents.get(number, f"agent-{number}")
        key = message.get("id") if isinstance(message.get("id"), str) else f"message-{n}"
        yield _make_message(message, place, agent, str(key), (began_at, at))


def _count_parts(source: ImportFiles, name: str, path: str, holder: str) -> Iterator[tuple[tuple[int, int], Any]]:
    """Yield the parts of agents with the number of the agent and that of the part in it, both from 1."""
    count = last = 0
    for number, value in read_parts(source.files, name, path, holder):
        count, last = (count + 1 if number == last else 1), number
        yield (number, count), value


def _make_message(
    message: Fields, place: str, agent: str, key: str, times: tuple[datetime | None, datetime | None]
) -> ImportRecord:
    role, text = _read_message(message, place)
    began_at, at = times
    if role == "event":
        return OmittedRecord(place=place, reason="an event of the system")
    if role not in _SPOKEN:
        return OmittedRecord(
            place=place, reason=f"a message of {f'the {role}' if role in _SILENT else 'nobody that is known'}"
        )
    if problem := fields.find_problem(text):
        return OmittedRecord(place=place, reason=problem)
    if at is None or began_at is None:
        return OmittedRecord(place=place, reason="has no time")
    return ImportedMessage(
        place=place,
        origin=_ORIGIN,
        conversation=agent,
        key=key,
        role=cast("Role", role),
        text=text,
        at=at,
        began_at=began_at,
    )


def _read_block(value: Any, place: str, agent: str) -> Iterator[ImportRecord]:
    """Yield the lines of a block of memory; the block about the user is the user's, every other the agent's own."""
    record = fields.check_object(value, place)
    label = fields.read_text(record, "label", place)
    part = f"block {agent or record.get('id') or ''} {label}".replace("  ", " ")
    yield from make_memories(
        _ORIGIN,
        part,
        fields.find_text(record, "value", place) or "",
        place,
        at=fields.read_time(record, "updated_at", place),
        role="user" if label.startswith(_HUMAN) else "assistant",
        tags=(f"block: {label}"[:120],),
    )


def _read_message(message: Fields, place: str) -> tuple[str, str]:
    """Return who speaks, `event` for what the system puts into a user's message, and the words."""
    role = fields.read_text(message, "role", place)
    texts = _list_texts(message.get("content"))
    if role == "user":
        return _read_user_text("\n".join(texts))
    if role == "assistant":
        spoken = [words for call in fields.read_list(message, "tool_calls", place) if (words := _read_call(call))]
        return role, "\n".join(spoken or texts)
    return role, "\n".join(texts)


def _list_texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    return [part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)]


def _read_user_text(text: str) -> tuple[str, str]:
    """Return the words of a user's message, which may be wrapped in JSON with its type."""
    try:
        wrapped = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        wrapped = None
    if not isinstance(wrapped, Mapping) or "type" not in wrapped:
        return "user", text
    if wrapped["type"] == "user_message" and isinstance(wrapped.get("message"), str):
        return "user", wrapped["message"]
    return "event", ""


def _read_call(call: Any) -> str:
    """Return what a call of the speaking tool says, empty for another call."""
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or function.get("name") != _SPEAKING:
        return ""
    try:
        arguments = json.loads(function.get("arguments") or "")
    except (TypeError, ValueError, RecursionError):
        return ""
    words = arguments.get("message") if isinstance(arguments, Mapping) else None
    return words if isinstance(words, str) else ""
