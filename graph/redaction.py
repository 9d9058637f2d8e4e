"""Checkpoints without secrets: every text of a value, redacted before it is stored."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.types import Send

from muniment.memory.rules.redaction import secret_names as named

Redact = Callable[[str], str]
# An id is no text: now and then the digits of one would pass for a card or a phone number.
_ID = re.compile(r"(?:[a-z_]{1,20}-+){0,3}[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:-\d+)?", re.IGNORECASE)
_ID_CHARS = 120
_NESTED = 100  # a message three times as deep is more than LangGraph's serializer takes
_OF_A_MESSAGE = (
    "content",
    "name",
    "additional_kwargs",
    "response_metadata",
    "tool_calls",
    "invalid_tool_calls",
    "artifact",
)


def safe(value: Any, redact: Redact) -> Any:
    """The value with every text redacted: in messages, collections and dataclasses; ids and keys stay. It is not changed.

    What is nested so deeply that LangGraph could not store it becomes a text."""
    return _safe(value, redact, 0)


def _safe(value: Any, redact: Redact, depth: int, *, hide: bool = False, whose: str = "") -> Any:
    """`hide`: it stands under the name of a secret; `whose`: it may be the arguments of this program."""
    if isinstance(value, str):
        return _of_a_text(value, redact, hide=hide)
    if depth > _NESTED:
        return named.MARK if hide else named.safe(value, redact)
    if isinstance(value, BaseMessage):
        return _of_a_message(value, redact, depth)
    depth += 1
    if isinstance(value, dict):
        held = named.hidden(value, hide=hide)
        whose = named.program(value)
        return {key: _safe(one, redact, depth, hide=key in held, whose=whose) for key, one in value.items()}
    if isinstance(value, list) and not hide:
        return [_safe(one, redact, depth) for one in named.argued(value, redact, whose)]
    if isinstance(value, list | set | frozenset):
        return type(value)(_safe(one, redact, depth, hide=hide) for one in value)
    if isinstance(value, tuple):
        parts = [_safe(one, redact, depth, hide=hide) for one in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return named.number(value) if hide and isinstance(value, int | float) else _of_fields(value, redact, depth)


def _of_a_text(text: str, redact: Redact, *, hide: bool) -> str:
    if hide:
        return named.concealed(text, redact)
    return text if len(text) <= _ID_CHARS and _ID.fullmatch(text) else named.told(text, redact)


def _of_a_message(value: BaseMessage, redact: Redact, depth: int) -> BaseMessage:
    # A thread's messages are saved over and over: pydantic's own way to a field would take most of the time.
    fields_ = vars(value)
    held = {name: one for name in _OF_A_MESSAGE if (one := fields_.get(name))}
    redacted = {name: _safe(one, redact, depth) for name, one in held.items()}
    return value if redacted == held else value.model_copy(update=redacted)


def _of_fields(value: Any, redact: Redact, depth: int) -> Any:
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
        object.__setattr__(made, name, _safe(text, redact, depth))
    return made
