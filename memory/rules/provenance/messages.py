"""Messages as they may be stored: without secrets, and still with calls that their results belong to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from muniment.memory.domain.ids import SafeText
from muniment.memory.domain.turn import Turn
from muniment.memory.rules.redaction.redact import Redactor
from muniment.memory.rules.redaction.secret_names import redact_json_text, redact_value

_ID_BYTES = 12  # of an id in place of one that looks like a secret


def sanitize_message(turn: Turn, redactor: Redactor) -> Turn:
    """Return a message without the secrets in its text and its payload, otherwise to the letter; one whose text is a
    SafeText as it is.

    An id of a call that looks like a secret becomes another one, the same each time."""
    if isinstance(turn.text, SafeText):
        return turn

    def redact(text: str) -> str:
        return redactor.redact_text(text).replace("\x00", "\ufffd")

    text = redact_json_text(turn.text, redact) if turn.role == "tool" else redact(turn.text)
    payload = {name: _redact_member(name, value, redact) for name, value in (turn.payload or {}).items()}
    return replace(turn, text=SafeText(text), payload=payload or None)


def _redact_member(name: str, value: Any, redact: Any) -> Any:
    if name == "tool_calls" and isinstance(value, list):
        return [_redact_call(call, redact) for call in value]
    if name == "tool_call_id":
        return _redact_id(value, redact)
    return value if name == "parts" else redact_value(value, redact)


def _redact_call(call: Any, redact: Any) -> Any:
    if not isinstance(call, Mapping):
        return redact_value(call, redact)
    return {name: _redact_part(name, value, redact) for name, value in call.items()}


def _redact_part(name: str, value: Any, redact: Any) -> Any:
    if name == "id":
        return _redact_id(value, redact)
    if isinstance(value, Mapping):
        return {key: _redact_of_function(key, part, redact) for key, part in value.items()}
    return redact_value(value, redact)


def _redact_of_function(name: str, value: Any, redact: Any) -> Any:
    if name == "name" and isinstance(value, str):
        return value if redact(value) == value else "redacted"  # no provider takes brackets in a name
    return _redact_arguments(value, redact) if name == "arguments" else redact_value(value, redact)


def _redact_arguments(value: Any, redact: Any) -> Any:
    """Arguments stay JSON: each value in them is redacted, and the text as a whole only where it is none."""
    if not isinstance(value, str):
        return redact_value(value, redact)
    try:
        given = json.loads(value)
    except (ValueError, RecursionError):
        return redact(value)
    safe = redact_value(given, redact)
    return value if safe == given else json.dumps(safe, ensure_ascii=False)


def _redact_id(value: Any, redact: Any) -> Any:
    if not isinstance(value, str) or redact(value) == value:
        return value
    return f"call_{blake2b(value.encode('utf-8', 'replace'), digest_size=_ID_BYTES).hexdigest()}"
