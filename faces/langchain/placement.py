"""Where the additions of a turn stand in a request: at the end of the system message, or of the last one of the user.

So a request begins like the one before it, as a provider's prompt cache needs, and no message stands between a call of
a tool and its result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any

from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from muniment.chain.placement import append_text, join_additions
from muniment.chain.values import Addition
from muniment.nodes.chain.messages import is_aside, is_summary


@dataclass(frozen=True, slots=True, kw_only=True)
class LastingText:
    """What a model is given in each call of an agent, as one text: the system prompt, and the tools' definitions."""

    text: str = ""
    system: str = ""
    tools: tuple[object, ...] = ()


def find_last_user_message(messages: Sequence[AnyMessage]) -> int | None:
    """The place of the last message of the user; None without any. A summary is none."""
    places = range(len(messages) - 1, -1, -1)
    return next(
        (n for n in places if isinstance(messages[n], HumanMessage) and not is_summary(messages[n])),
        None,
    )


def find_turn_start(messages: Sequence[AnyMessage]) -> int:
    """The place of the first message of the turn: the user's messages since the last reply, or what follows the
    summary that stands for them. An exchange that a middleware answered itself is over."""
    start = find_last_user_message(messages)
    if start is None:
        return next((n + 1 for n in range(len(messages) - 1, -1, -1) if is_summary(messages[n])), len(messages))
    while start and isinstance(messages[start - 1], HumanMessage) and not _is_apart(messages[start - 1]):
        start -= 1
    return start


def place_texts(request: ModelRequest[Any], additions: Sequence[Addition]) -> ModelRequest[Any]:
    """Return a request with the additions in their places; where the user's message has left the thread, at the end of
    the summary that stands for it."""
    messages, system = list(request.messages), request.system_message
    place = find_last_user_message(messages)
    if place is None:
        place = next((n for n in range(len(messages) - 1, -1, -1) if isinstance(messages[n], HumanMessage)), None)
    if (text := join_additions(additions, "user")) and place is not None:
        messages[place] = _append(messages[place], text)
    if text := join_additions(additions, "system"):
        system = SystemMessage(text) if system is None else _append(system, text)
    return request.override(messages=messages, system_message=system)


def describe_lasting(request: ModelRequest[Any], known: LastingText) -> LastingText:
    """Return what a request gives the model beside its messages; what is `known` where it is the same."""
    system, tools = str(request.system_message.text if request.system_message else ""), tuple(request.tools)
    if system == known.system and len(tools) == len(known.tools) and all(map(is_, tools, known.tools)):
        return known
    definitions = json.dumps([convert_to_openai_tool(tool) for tool in tools], ensure_ascii=False)
    return LastingText(text=f"{system}\n\n{definitions}", system=system, tools=tools)


def _is_apart(message: AnyMessage) -> bool:
    return is_aside(message) or is_summary(message)


def _append(message: Any, text: str) -> Any:
    content = message.content
    if isinstance(content, str):
        changed: Any = append_text(content, text)
    else:
        changed = [*content, {"type": "text", "text": text}]
    return message.model_copy(update={"content": changed})
