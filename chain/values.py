"""What the hooks of a chain get: who asks, the messages of a turn, its answer, and what a tool gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

MessageRole: TypeAlias = Literal["system", "user", "assistant", "tool"]
Status: TypeAlias = Literal["done", "failed", "aborted"]
Placement: TypeAlias = Literal["system", "user"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who asks, and where, as the host knows it; never from the arguments of a model."""

    user: str
    session: str
    tenant: str = "default"
    project: str | None = None
    app: str | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a tool that a message of the assistant asks for."""

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of a conversation. `id` is stable where the host has one."""

    role: MessageRole
    text: str
    id: str | None = None
    at: datetime | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None  # of a tool's message: the call that it answers
    name: str | None = None  # of a tool's message: the tool
    is_aside: bool = False  # of an exchange that a middleware answered itself: no model is shown it in a later turn
    is_machine: bool = False  # of a message of the user that nobody has typed, as `TurnContext` has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """A text that a middleware puts before the model: at the end of the system message, where it seldom changes, or at
    the end of the last message of the user. It never becomes part of the conversation."""

    source: str  # the name of the middleware
    text: str
    placement: Placement = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """A turn before it is answered. A hook changes it by `dataclasses.replace`.

    A middleware that sets `reply` answers the turn itself: the model is not called, and neither the message nor the
    reply is shown to a model in a later turn. The host keeps both with `is_aside`."""

    turn_id: str
    identity: Identity
    messages: tuple[Message, ...]  # oldest first; the last one of the user is what is answered
    at: datetime
    additions: tuple[Addition, ...] = ()
    reply: str | None = None
    is_machine: bool = False  # nobody has typed the message: a tool, a schedule or another program asks
    tags: tuple[str, ...] = ()
    path: str | None = None  # of the file that is worked on
    attributes: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), hash=False)

    @property
    def user_text(self) -> str:
        """The text of the last message of the user; empty without one."""
        return next((message.text for message in reversed(self.messages) if message.role == "user"), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutput:
    """How a turn ended, and the messages that it added to the conversation, oldest first, the answer last."""

    text: str
    at: datetime
    status: Status = "done"
    messages: tuple[Message, ...] = ()
    error: str | None = None  # the class of what failed


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """What a tool gave in a turn."""

    call: ToolCall
    text: str
    at: datetime
    is_error: bool = False
