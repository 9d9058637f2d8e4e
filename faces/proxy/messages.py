"""Messages of a chat as turns of the ledger, and back.

A turn has the text of a message; its payload has the calls, the name, and what stood beside the text. Reasoning is in
neither."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from muniment.memory.domain.memory import Role
from muniment.memory.domain.turn import Turn

Message = Mapping[str, Any]
_TICK = timedelta(microseconds=1)  # between messages of one time, so that the ledger keeps their order
_CALL_MEMBERS = ("id", "type", "function", "custom")
_TEXT_TYPES = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}  # to their members
_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant", "tool": "tool"}


def make_turns(messages: Sequence[Message], *, session: str, at: datetime) -> list[Turn]:
    """Return the messages of users, assistants and tools as turns, in order; `at` is the time of the last.

    A message that says nothing is left out."""
    start = at - len(messages) * _TICK
    turns = (make_turn(message, session=session, at=start + n * _TICK) for n, message in enumerate(messages, 1))
    return [turn for turn in turns if turn is not None]


def make_turn(message: Message, *, session: str, at: datetime, recalled: tuple[int, ...] = ()) -> Turn | None:
    """Return a message as a turn, with the hashes of what was `recalled` for it; None for a message of another role,
    and for one that says nothing.

    Each call makes another turn: that two messages are the same is found by their hashes."""
    role = _ROLES.get(message.get("role"))
    if role is None:
        return None
    content = message.get("content")
    text = _read_text(content) or (_read_refusal(message) if role == "assistant" else "")
    payload = dict(_list_members(message, role, content))
    if not text and not payload.keys() & {"tool_calls", "tool_call_id", "parts"}:
        return None
    return Turn.make(
        session=session, key=uuid4().hex, role=role, text=text, at=at, recalled=recalled, payload=payload or None
    )


def make_message(turn: Turn) -> dict[str, Any]:
    """Return a turn as a message; of what stood beside its text it says that it was there."""
    payload = turn.payload or {}
    places = [f"[{part['type']}]" for part in payload.get("parts", ())]
    text = "\n".join(filter(None, (turn.text, *places)))
    message: dict[str, Any] = {"role": turn.role, "content": text or (None if "tool_calls" in payload else "")}
    return message | {name: payload[name] for name in ("name", "tool_calls", "tool_call_id") if name in payload}


def _read_text(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(text for part in _list_parts(content) if (text := _read_part(part)))


def _read_part(part: Mapping[str, Any]) -> str:
    text = part.get(_TEXT_TYPES.get(_get_type(part), ""))
    return text if isinstance(text, str) else ""


def _read_refusal(message: Message) -> str:
    refusal = message.get("refusal")
    return refusal if isinstance(refusal, str) else ""


def _list_parts(content: object) -> list[Mapping[str, Any]]:
    return [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []


def _list_members(message: Message, role: str, content: object) -> Iterator[tuple[str, Any]]:
    """The members of the payload. What an assistant says beside its text is its reasoning, and is not kept."""
    if isinstance(name := message.get("name"), str) and name:
        yield "name", name
    if role == "assistant":
        calls = message.get("tool_calls")
        kept = [_pick_call(call) for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
        if kept:
            yield "tool_calls", kept
        return
    if role == "tool":
        yield "tool_call_id", message.get("tool_call_id")
    others = [part for part in _list_parts(content) if _get_type(part) not in _TEXT_TYPES]
    if others:
        yield "parts", [{"type": _get_type(part), "digest": _hash_part(part)} for part in others]


def _pick_call(call: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "function"} | {name: call[name] for name in _CALL_MEMBERS if call.get(name) is not None}


def _get_type(part: Mapping[str, Any]) -> str:
    kind = part.get("type")
    return kind if isinstance(kind, str) and kind.isidentifier() else "part"


def _hash_part(part: Mapping[str, Any]) -> str:
    """A digest by which an image is known again; the image is not kept."""
    text = json.dumps(part, sort_keys=True, default=str)
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
