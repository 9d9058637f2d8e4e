"""Checkpoints without secrets: every text of a value, redacted before it is stored."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.types import Send

from muniment.memory.rules.redaction import secret_names

Redact = Callable[[str], str]
# An id is no text: now and then the digits of one would pass for a card or a phone number.
_ID = re.compile(r"(?:[a-z_]{1,20}-+){0,3}[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:-\d+)?", re.IGNORECASE)
_ID_CHARS = 120
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
    """The value with every text redacted: in messages, collections and dataclasses; ids and keys stay. It is not changed.

    What is nested so deeply that LangGraph could not store it becomes a text."""
    return _redact_nested(value, redact, 0)


def _redact_nested(value: Any, redact: Redact, depth: int, *, hide: bool = False, whose: str = "") -> Any:
    """`hide`: it stands under the name of a secret; `whose`: it may be the arguments of this program."""
    if isinstance(value, str):
        return _redact_string(value, redact, hide=hide)
    if depth > _MAX_DEPTH:
        return secret_names.REDACTED if hide else secret_names.redact_value(value, redact)
    if isinstance(value, BaseMessage):
        return _redact_message(value, redact, depth)
    depth += 1
    if isinstance(value, dict):
        secret_keys = secret_names.find_secret_members(value, conceal=hide)
        whose = secret_names.find_program(value)
        return {
            key: _redact_nested(one, redact, depth, hide=key in secret_keys, whose=whose) for key, one in value.items()
        }
    if isinstance(value, list) and not hide:
        return [_redact_nested(one, redact, depth) for one in secret_names.redact_arguments(value, redact, whose)]
    if isinstance(value, list | set | frozenset):
        return type(value)(_redact_nested(one, redact, depth, hide=hide) for one in value)
    if isinstance(value, tuple):
        parts = [_redact_nested(one, redact, depth, hide=hide) for one in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return (
        secret_names.conceal_number(value)
        if hide and isinstance(value, int | float)
        else _redact_fields(value, redact, depth)
    )


def _redact_string(text: str, redact: Redact, *, hide: bool) -> str:
    if hide:
        return secret_names.conceal_text(text, redact)
    return text if len(text) <= _ID_CHARS and _ID.fullmatch(text) else secret_names.redact_json_text(text, redact)


def _redact_message(value: BaseMessage, redact: Redact, depth: int) -> BaseMessage:
    # A thread's messages are saved over and over: pydantic's own way to a field would take most of the time.
    fields_ = vars(value)
    texts = {name: one for name in _MESSAGE_FIELDS if (one := fields_.get(name))}
    redacted = {name: _redact_nested(one, redact, depth) for name, one in texts.items()}
    return value if redacted == texts else value.model_copy(update=redacted)


def _redact_fields(value: Any, redact: Redact, depth: int) -> Any:
    if isinstance(value, BaseException):
        return redact(repr(value))  # what the serializer would make of it
    if isinstance(value, Send):
        texts = {"arg": value.arg}
    elif is_dataclass(value) and not isinstance(value, type):
        texts = {one.name: getattr(value, one.name) for one in fields(value) if one.name != "id"}
    else:
        return value
    made = copy.copy(value)
    for name, text in texts.items():
        object.__setattr__(made, name, _redact_nested(text, redact, depth))
    return made
