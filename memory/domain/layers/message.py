"""Messages of a conversation that a client sends again with each request: what makes two of them the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from muniment.memory.domain.turn import Turn

KNOWN_MESSAGES = 200  # the latest of a session, among which a new message is a repeat


def hash_message(turn: Turn) -> bytes:
    """Return the MD5, 16 bytes, of the role, the text and the payload of a message.

    Arguments of calls count by their value: clients write the JSON that they got in a way of their own."""
    payload = dict(turn.payload or {})
    if isinstance(calls := payload.get("tool_calls"), list):
        payload["tool_calls"] = [_parse_arguments(call) for call in calls]
    metadata = json.dumps(payload, sort_keys=True, separators=(",", ":")) if payload else ""
    said = f"{turn.role}\x00{turn.text}\x00{metadata}"
    return hashlib.md5(said.encode("utf-8", "replace"), usedforsecurity=False).digest()


def list_texts(turn: Turn) -> list[str]:
    """Return the text of a message and the arguments of its calls."""
    calls = (turn.payload or {}).get("tool_calls") or ()
    parts = [part for call in calls if isinstance(call, Mapping) for part in call.values() if isinstance(part, Mapping)]
    return [turn.text, *(value for part in parts for value in part.values() if isinstance(value, str))]


def _parse_arguments(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {
        name: _parse_json(part) if name == "arguments" and isinstance(part, str) else _parse_arguments(part)
        for name, part in value.items()
    }


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
