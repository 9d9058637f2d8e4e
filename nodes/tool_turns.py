"""What was done with tools in a turn, on its way to the ledger: by the agents of the graph, and in the thread it was handed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from muniment.memory import codec
from muniment.memory.client import Memory
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import ToolUse, Turn
from muniment.nodes.state import PendingToolTurn, State, find_turn_messages, get_reply, make_turn

_MAX_RECENT = 200  # messages of a thread that are looked at, and uses of tools that wait
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)  # between what has one time, so that the ledger keeps its order
_REPLY_NAME = "supervisor"


def add_pending_turns(state: State, scope: Scope, turns: Sequence[Turn]) -> list[PendingToolTurn]:
    """The uses that wait for the ledger, with these of this turn; the latest of very many."""
    return [*state.get("acts", ()), *map(_pack_turn, tag_turns(state, scope, turns))][-_MAX_RECENT:]


def find_latest_time(state: State) -> datetime:
    """When the last of what this turn has said or done was: what is done next is later, however the clock stands."""
    acts = [_EPOCH + one["at"] * _TICK for one in state.get("acts", ())]
    return max([datetime.fromisoformat(state["at"]), *acts])


def load_turns(pending: Sequence[PendingToolTurn], scope: Scope) -> list[Turn]:
    """The uses that wait, as turns of the ledger."""
    return [
        Turn(
            id=TurnId(UUID(one["id"])), role="tool", text=one["text"], at=_EPOCH + one["at"] * _TICK,
            session=scope.session, thread=scope.thread, actor=one["agent"], source="tool", path=one["path"],
            tags=tuple(one["tags"]),
        )
        for one in pending
    ]  # fmt: skip


def tag_turns(state: State, scope: Scope, turns: Sequence[Turn]) -> list[Turn]:
    """Turns of this turn's work with its tags and path: where what was asked may not be kept, what was done for it may not
    either, for it is of the same things."""
    user_turns = [make_turn(scope, one, state["at"]) for one in find_turn_messages(state)]
    tags = tuple(dict.fromkeys(tag for one in user_turns for tag in one.tags))
    path = next((one.path for one in user_turns if one.path), None)
    return [replace(one, tags=(*tags, *one.tags), path=path or one.path) for one in turns]


def collect_tool_turns(state: State, scope: Scope, memory: Memory) -> tuple[list[Turn], dict[str, str]]:
    """What the thread holds of another agent's work since the last reply: its uses of tools as turns, and the ids of the
    messages in which a person asked for them, with their times. The same message is always the same turn."""
    new, began = set(state.get("asked", ())), datetime.fromisoformat(state["at"])
    messages = _list_recent_messages(state)
    last = max((n for n, one in enumerate(messages) if isinstance(one, ToolMessage)), default=-1)
    first = next((n for n, one in enumerate(messages) if one.id in new), len(messages))
    calls = {str(call["id"]): call for one in messages if isinstance(one, AIMessage) for call in one.tool_calls}
    turns: list[Turn] = []
    times: dict[str, str] = {}
    for n, one in enumerate(messages[: last + 1]):
        at = began + (n - first) * _TICK
        if isinstance(one, ToolMessage):
            turns.append(memory.make_tool_turn(scope, _make_tool_use(one, calls.get(one.tool_call_id, {}), at)))
        elif isinstance(one, HumanMessage) and one.id and one.id not in new:
            times[one.id] = at.isoformat()
    return turns, times


def _list_recent_messages(state: State) -> list[AnyMessage]:
    """The messages since the last reply but this turn's, oldest first."""
    last_reply = get_reply(state)
    before = [one for one in state["messages"] if one is not last_reply][-_MAX_RECENT:]
    end = next((n for n, one in enumerate(reversed(before)) if _is_reply(one)), len(before))
    return before[len(before) - end :]


def _is_reply(message: AnyMessage) -> bool:
    return isinstance(message, AIMessage) and message.name == _REPLY_NAME


def _make_tool_use(message: ToolMessage, call: Mapping[str, Any], at: datetime) -> ToolUse:
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


def _pack_turn(turn: Turn) -> PendingToolTurn:
    at = (turn.at - _EPOCH) // _TICK
    return PendingToolTurn(id=str(turn.id), text=turn.text, at=at, agent=turn.actor, path=turn.path, tags=[*turn.tags])
