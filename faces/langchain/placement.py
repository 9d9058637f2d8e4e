"""Where recalled text stands in a request: the profile ends the system message, the rest the last message of the user.

So a request begins like the one before it, as a provider's prompt cache needs, and no message stands between a call of
a tool and its result."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from muniment.memory.payload import fence_text

_HEADING = "What is known about the person:"


def find_last_user_message(messages: Sequence[AnyMessage]) -> int | None:
    """The place of the last message of the user; None without any."""
    return next((n for n in range(len(messages) - 1, -1, -1) if isinstance(messages[n], HumanMessage)), None)


def add_profile(message: SystemMessage | None, profile: str) -> SystemMessage | None:
    """The system message with the profile at its end."""
    if not profile:
        return message
    text = f"{_HEADING}\n{fence_text(profile)}"
    return SystemMessage(text) if message is None else message.model_copy(update={"content": _add(message, text)})


def add_recalled(messages: list[AnyMessage], recalled: str) -> list[AnyMessage]:
    """The messages with the recalled text at the end of the last one of the user."""
    place = find_last_user_message(messages)
    if not recalled or place is None:
        return messages
    message = messages[place]
    changed = message.model_copy(update={"content": _add(message, recalled)})
    return [*messages[:place], changed, *messages[place + 1 :]]


def _add(message: AnyMessage, text: str) -> str | list[str | dict[str, object]]:
    content = message.content
    if isinstance(content, str):
        return f"{content}\n\n{text}"
    return [*content, {"type": "text", "text": text}]
