"""The messages of a thread as those of a chain, and the mark of an exchange that a middleware answered itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from muniment.chain.values import Message, MessageRole, ToolCall

_ASIDE = "muniment_aside"  # in `additional_kwargs`, which checkpoints keep
_MACHINE = "is_machine"  # there, too
_SOURCE, _SUMMARY = "lc_source", "summarization"  # by which LangChain marks a summary
_ROLES: dict[str, MessageRole] = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}
_Message = TypeVar("_Message", bound=BaseMessage)


def convert_messages(messages: Sequence[AnyMessage]) -> tuple[Message, ...]:
    """Return the messages of a thread as a chain has them, in order. A summary is nothing that the user has said."""
    return tuple(_convert_message(message) for message in messages if message.type in _ROLES)


def mark_aside(message: _Message) -> _Message:
    """Return a message as one that no model is shown."""
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, _ASIDE: True}})


def is_aside(message: BaseMessage) -> bool:
    """Whether a message belongs to an exchange that a middleware answered itself."""
    return message.additional_kwargs.get(_ASIDE) is True


def list_shown(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages that a model may be shown."""
    return [message for message in messages if not is_aside(message)]


def is_summary(message: BaseMessage) -> bool:
    """Whether a message stands for earlier ones that have left the thread."""
    return message.additional_kwargs.get(_SOURCE) == _SUMMARY


def is_from_machine(message: BaseMessage) -> bool:
    """Whether nobody has typed a message of the user: a tool, a schedule or another program asks."""
    return message.additional_kwargs.get(_MACHINE) is True


def _convert_message(message: AnyMessage) -> Message:
    calls = message.tool_calls if isinstance(message, AIMessage) else ()
    result = message if isinstance(message, ToolMessage) else None
    return Message(
        role="system" if isinstance(message, HumanMessage) and is_summary(message) else _ROLES[message.type],
        text=str(message.text),
        id=message.id,
        tool_calls=tuple(
            ToolCall(id=str(call["id"] or ""), name=call["name"], arguments=call["args"]) for call in calls
        ),
        tool_call_id=result.tool_call_id if result else None,
        name=result.name if result else None,
        is_aside=is_aside(message),
        is_machine=is_from_machine(message),
    )
