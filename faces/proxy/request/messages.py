"""The messages of a request: what is checked of them, and the text that memory is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from muniment.faces.proxy.errors import BadRequest

SYSTEM_ROLES = frozenset({"system", "developer"})
_ROLES = SYSTEM_ROLES | {"user", "assistant", "tool", "function"}
_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
# Any of these is what an assistant says where it says no text.
_OTHER_CONTENT = ("tool_calls", "function_call", "refusal", "audio", "reasoning_content")


def check_messages(messages: Sequence[Any]) -> None:
    """Raise BadRequest, which names the place, for messages that are no conversation."""
    if not messages:
        raise BadRequest("messages", "is empty; at least one message is wanted")
    for number, message in enumerate(messages):
        _check_message(f"messages[{number}]", message)


def _check_message(place: str, message: Any) -> None:
    if not isinstance(message, Mapping):
        raise BadRequest(place, f"is {_name_type(message)}; an object is wanted")
    role = message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise BadRequest(f"{place}.role", f"is not known; one of {', '.join(sorted(_ROLES))} is wanted")
    _check_content(place, role, message)
    if role == "tool" and not _is_text(message.get("tool_call_id")):
        raise BadRequest(f"{place}.tool_call_id", "is missing; a message of a tool names the call that it answers")
    if message.get("name") is not None and not isinstance(message["name"], str):
        raise BadRequest(f"{place}.name", f"is {_name_type(message['name'])}; a text is wanted")
    if message.get("tool_calls") is not None:
        _check_calls(f"{place}.tool_calls", message["tool_calls"])


def _check_content(place: str, role: str, message: Mapping[str, Any]) -> None:
    content = message.get("content")
    if content is None:
        if role == "assistant" and any(message.get(name) for name in _OTHER_CONTENT):
            return
        raise BadRequest(f"{place}.content", "is missing; a text or a list of parts is wanted")
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise BadRequest(f"{place}.content", f"is {_name_type(content)}; a text or a list of parts is wanted")
    for number, part in enumerate(content):
        if not isinstance(part, Mapping) or not _is_text(part.get("type")):
            raise BadRequest(f"{place}.content[{number}]", "is no part; an object with a type is wanted")
        if part["type"] in _TEXT_PARTS and not isinstance(part.get("text"), str):
            raise BadRequest(f"{place}.content[{number}].text", "is missing; a text is wanted")


def _check_calls(place: str, calls: Any) -> None:
    if not isinstance(calls, list):
        raise BadRequest(place, f"is {_name_type(calls)}; a list is wanted")
    for number, call in enumerate(calls):
        here = f"{place}[{number}]"
        if not isinstance(call, Mapping):
            raise BadRequest(here, f"is {_name_type(call)}; an object is wanted")
        if not _is_text(call.get("id")):
            raise BadRequest(f"{here}.id", "is missing; a call has an id, which its result names")
        function = call.get("function")
        if call.get("type", "function") == "function" and not (
            isinstance(function, Mapping) and _is_text(function.get("name"))
        ):
            raise BadRequest(f"{here}.function.name", "is missing; a call names its function")


def find_last_user(messages: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the place of the last message of the user; None without any."""
    return next((at for at in range(len(messages) - 1, -1, -1) if messages[at].get("role") == "user"), None)


def find_system(messages: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the place of the first system prompt; None without any."""
    return next((at for at, message in enumerate(messages) if message.get("role") in SYSTEM_ROLES), None)


def join_text(content: Any) -> str:
    """Return the text of a message's content: itself, or its parts of text, joined."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") in _TEXT_PARTS)
    return "\n".join(text for text in texts if isinstance(text, str))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _name_type(value: Any) -> str:
    """Return what a JSON value is, without the value."""
    names = {str: "a text", bool: "true or false", list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value), "a number")
