"""Tool calls on their way to the ledger: those of the turn, and those that wait since memory failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from muniment.memory import codec
from muniment.memory.client import Memory
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import ToolUse, Turn
from muniment.nodes.entry import get_reply, tag_turns
from muniment.nodes.state import PendingToolTurn, State

_MAX_TOOL_MESSAGES = 200  # messages of a thread that are read for tool calls, and tool calls that wait
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)  # between messages of one time, so that the ledger keeps their order
_REPLY_NAME = "supervisor"


def add_pending_turns(state: State, scope: Scope, turns: Sequence[Turn]) -> list[PendingToolTurn]:
    """The tool calls that wait for the ledger, with these of this turn; at most the latest 200."""
    new = [
        PendingToolTurn(
            id=str(turn.id),
            text=turn.text,
            at=(turn.at - _EPOCH) // _TICK,
            agent=turn.actor,
            path=turn.path,
            tags=[*turn.tags],
        )
        for turn in tag_turns(state, scope, turns)
    ]
    return [*state.get("acts", ()), *new][-_MAX_TOOL_MESSAGES:]


def find_latest_time(state: State) -> datetime:
    """The time of the turn's last message or tool call; the next one is later, whatever the clock says."""
    times = [_EPOCH + call["at"] * _TICK for call in state.get("acts", ())]
    return max([datetime.fromisoformat(state["at"]), *times])


def load_turns(pending: Sequence[PendingToolTurn], scope: Scope) -> list[Turn]:
    """The pending tool calls as turns of the ledger."""
    return [
        Turn(
            id=TurnId(UUID(call["id"])),
            role="tool",
            text=call["text"],
            at=_EPOCH + call["at"] * _TICK,
            session=scope.session,
            thread=scope.thread,
            actor=call["agent"],
            source="tool",
            path=call["path"],
            tags=tuple(call["tags"]),
        )
        for call in pending
    ]


def collect_tool_turns(state: State, scope: Scope, memory: Memory) -> tuple[list[PendingToolTurn], dict[str, str]]:
    """The pending tool calls, with those of another agent in the thread since the last reply, and the times of the
    user's messages before these by their ids. The same message is always the same turn."""
    new_ids, began = set(state.get("asked", ())), datetime.fromisoformat(state["at"])
    reply = get_reply(state)
    messages = [message for message in state["messages"] if message is not reply][-_MAX_TOOL_MESSAGES:]
    replies = (
        n for n, message in enumerate(messages) if isinstance(message, AIMessage) and message.name == _REPLY_NAME
    )
    messages = messages[max(replies, default=-1) + 1 :]
    last = max((n for n, message in enumerate(messages) if isinstance(message, ToolMessage)), default=-1)
    first = next((n for n, message in enumerate(messages) if message.id in new_ids), len(messages))
    calls = {
        str(call["id"]): call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls
    }
    turns: list[Turn] = []
    times: dict[str, str] = {}
    for n, message in enumerate(messages[: last + 1]):
        at = began + (n - first) * _TICK
        if isinstance(message, ToolMessage):
            use = make_tool_use(message, calls.get(message.tool_call_id, {}), at)
            turns.append(memory.conversation.make_tool_turn(scope, use))
        elif isinstance(message, HumanMessage) and message.id and message.id not in new_ids:
            times[message.id] = at.isoformat()
    return add_pending_turns(state, scope, turns) if turns else list(state.get("acts", ())), times


def make_tool_use(message: ToolMessage, call: Mapping[str, Any], at: datetime) -> ToolUse:
    """A tool call by its message with the result, and by what the model has sent, `{}` where that is not there."""
    tags, path = message.additional_kwargs.get("tags"), message.additional_kwargs.get("path")
    return ToolUse(
        key=message.id or message.tool_call_id,
        name=call.get("name") or message.name or "tool",
        arguments=call.get("args") or {},
        result=str(message.text),
        at=at,
        ok=message.status != "error",
        path=path if isinstance(path, str) else None,
        tags=tuple(tags or ()) if codec.is_text_list(tags) else (),
    )
