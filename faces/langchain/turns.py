"""The messages of an agent as turns of the ledger: what the user said, what tools did, and the reply."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from muniment.faces.langchain.placement import find_turn_start
from muniment.memory.client import Memory
from muniment.memory.domain.query import Brief
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.nodes.chain.messages import is_aside, is_summary
from muniment.nodes.entry import make_turn
from muniment.nodes.tool_turns import make_tool_use
from muniment.nodes.tools import QUERY_TOOL

_TICK = timedelta(microseconds=1)  # between messages of one time, so that the ledger keeps their order


def list_turn_messages(messages: Sequence[AnyMessage], waiting: Collection[str]) -> list[AnyMessage]:
    """The messages since the last reply, and those before that wait since memory failed."""
    start = find_turn_start(messages)
    return [
        message
        for n, message in enumerate(messages)
        if (n >= start or message.id in waiting) and not (is_aside(message) or is_summary(message))
    ]


def list_recalled_texts(brief: Brief | None, messages: Sequence[AnyMessage]) -> list[str]:
    """What memory has given for a reply: before it, and by the tool."""
    own = [] if brief is None else [brief.stable, brief.moving]
    return own + [str(message.text) for message in messages if is_recall(message)]


def is_recall(message: AnyMessage) -> bool:
    """Whether a message is an answer of memory."""
    return isinstance(message, ToolMessage) and message.name == QUERY_TOOL


def make_turns(scope: Scope, memory: Memory, messages: Sequence[AnyMessage], recalled: Sequence[int]) -> list[Turn]:
    """The messages as turns, in order. What memory has answered is none: the ledger gets no second copy of it.

    The same message of the same thread is always the same turn."""
    calls = {
        str(call["id"]): call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls
    }
    most, at, turns = memory.engine.settings.limits.turn_chars, memory.now(), list[Turn]()
    for message in messages:
        at += _TICK
        if isinstance(message, ToolMessage):
            if not is_recall(message):
                use = make_tool_use(message, calls.get(message.tool_call_id, {}), at)
                turns.append(memory.conversation.make_tool_turn(scope, use))
        elif isinstance(message, HumanMessage | AIMessage) and 0 < len(str(message.text)) <= most:
            is_reply = isinstance(message, AIMessage)
            turns.append(make_turn(scope, message, at.isoformat(), recalled if is_reply else ()))
    return turns
