"""Checkpoints without secrets: every text of a value is redacted before it is stored."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.types import Send

from muniment.memory.rules.redaction import secret_names

Redact = Callable[[str], str]
# An id is no text: its digits can look like a card or a phone number.
_ID = re.compile(r"(?:[a-z_]{1,20}-+){0,3}[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:-\d+)?", re.IGNORECASE)
_ID_CHARS = 120
_CACHE_SIZE = 4096  # texts: a thread's messages are stored again with each of its checkpoints
_LONG_TEXT = 4_000  # characters of a message from which it is redacted in a thread
_MAX_DEPTH = 100  # a message three times as deep is more than LangGraph's serializer takes
_MESSAGE_FIELDS = (
    "content",
    "name",
    "additional_kwargs",
    "response_metadata",
    "tool_calls",
    "invalid_tool_calls",
    "artifact",
)


def redact_value(value: Any, redact: Redact) -> Any:
    """A copy of the value with every text redacted, in messages, collections and dataclasses; ids and keys stay.

    A part that is nested too deeply for LangGraph to store becomes a text."""
    return _redact_nested(value, redact, 0)


def _redact_nested(value: Any, redact: Redact, depth: int, *, hide: bool = False, program: str = "") -> Any:
    """`hide`: the value has the name of a secret; `program`: it may be the arguments of this program."""
    if isinstance(value, str):
        return _redact_string(value, redact, hide=hide)
    if depth > _MAX_DEPTH:
        return secret_names.REDACTED if hide else secret_names.redact_value(value, redact)
    if isinstance(value, BaseMessage):
        return _redact_message(value, redact, depth)
    depth += 1
    if isinstance(value, dict):
        secret_keys = secret_names.find_secret_members(value, conceal=hide)
        program = secret_names.find_program(value)
        return {
            key: _redact_nested(item, redact, depth, hide=key in secret_keys, program=program)
            for key, item in value.items()
        }
    if isinstance(value, list) and not hide:
        return [_redact_nested(item, redact, depth) for item in secret_names.redact_arguments(value, redact, program)]
    if isinstance(value, list | set | frozenset):
        return type(value)(_redact_nested(item, redact, depth, hide=hide) for item in value)
    if isinstance(value, tuple):
        parts = [_redact_nested(item, redact, depth, hide=hide) for item in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return (
        secret_names.conceal_number(value)
        if hide and isinstance(value, int | float)
        else _redact_fields(value, redact, depth)
    )


def _redact_string(text: str, redact: Redact, *, hide: bool) -> str:
    if hide:
        return secret_names.conceal_text(text, redact)
    return _redact_plain(text, redact)


@lru_cache(_CACHE_SIZE)
def _redact_plain(text: str, redact: Redact) -> str:
    return text if len(text) <= _ID_CHARS and _ID.fullmatch(text) else secret_names.redact_json_text(text, redact)


def _redact_message(message: BaseMessage, redact: Redact, depth: int) -> BaseMessage:
    # Each checkpoint saves the messages: pydantic's attribute access would take most of the time.
    fields_, changed = vars(message), {}
    for name in _MESSAGE_FIELDS:
        if value := fields_.get(name):
            redacted = _redact_nested(value, redact, depth)
            if redacted != value:
                changed[name] = redacted
    return message.model_copy(update=changed) if changed else message


def _redact_fields(value: Any, redact: Redact, depth: int) -> Any:
    if isinstance(value, BaseException):
        return redact(repr(value))  # the form in which the serializer stores it
    if isinstance(value, Send):
        texts = {"arg": value.arg}
    elif is_dataclass(value) and not isinstance(value, type):
        texts = {field.name: getattr(value, field.name) for field in fields(value) if field.name != "id"}
    else:
        return value
    redacted = copy.copy(value)
    for name, text in texts.items():
        object.__setattr__(redacted, name, _redact_nested(text, redact, depth))
    return redacted


def has_long_text(values: Mapping[str, Any]) -> bool:
    """Whether a message of these channels, or of the input of a run, is so long that its redaction would hold up other
    calls."""
    given = values.get("__start__")
    channels = [*values.values(), *(given.values() if isinstance(given, dict) else ())]
    messages = (each for value in channels if isinstance(value, list) for each in value)
    return any(len(each.content) > _LONG_TEXT for each in messages if isinstance(each, BaseMessage))
