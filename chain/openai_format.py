"""Messages as the chat completions of OpenAI's protocol have them, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from muniment.chain.values import Message, ToolCall

NO_OBJECT = "the arguments are no JSON object"


def encode_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return messages as a request has them: the same bytes for the same messages."""
    return [_encode_message(message) for message in messages]


def _encode_message(message: Message) -> dict[str, Any]:
    encoded: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.tool_calls:
        encoded["content"] = message.text or None
        encoded["tool_calls"] = [_encode_call(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        encoded["tool_call_id"] = message.tool_call_id
    return encoded


def _encode_call(call: ToolCall) -> dict[str, Any]:
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


@dataclass(slots=True)
class AnswerDraft:
    """An answer of a model as it comes in, whole or in parts."""

    texts: list[str] = field(default_factory=list)
    calls: dict[int, dict[str, str]] = field(default_factory=dict)  # by index: id, name and arguments

    def add_part(self, delta: Any) -> str:
        """Take a part of a stream, or a whole message, and return its text."""
        for place, call in enumerate(delta.tool_calls or ()):
            draft = self.calls.setdefault(getattr(call, "index", place), {"id": "", "name": "", "arguments": ""})
            draft["id"] = draft["id"] or call.id or ""
            if call.function is not None:
                draft["name"] += call.function.name or ""
                draft["arguments"] += call.function.arguments or ""
        text = delta.content or getattr(delta, "refusal", None) or ""
        self.texts.append(text)
        return text

    def build_message(self, at: datetime) -> tuple[Message, Mapping[str, str]]:
        """Return the answer as a message, and by the id of a call what is wrong with its arguments."""
        calls, faults = [], {}
        for _, draft in sorted(self.calls.items()):
            arguments = _parse_object(draft["arguments"])
            if arguments is None:
                faults[draft["id"]] = NO_OBJECT
            calls.append(ToolCall(id=draft["id"], name=draft["name"], arguments=arguments or {}))
        return Message(role="assistant", text="".join(self.texts), at=at, tool_calls=tuple(calls)), faults


def _parse_object(text: str) -> dict[str, Any] | None:
    """Models leave the arguments out where a tool has none."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def find_first_choice(choices: Iterable[Any]) -> Any | None:
    """Return the first choice of an answer or of a part of one; None without any."""
    return next(iter(choices or ()), None)
