"""What was done with tools in a turn, on its way to the ledger: by the agents of the graph, and in the thread it was handed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from muniment.memory import codec as wire
from muniment.memory.client import Memory
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn, Use
from muniment.nodes.state import Acted, State, asked, reply, turn

_RECENT = 200  # messages of a thread that are looked at, and uses of tools that wait
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STEP = timedelta(microseconds=1)  # between what has one time, so that the ledger keeps its order
_REPLIES = "supervisor"


def waiting(state: State, who: Scope, acts: Sequence[Turn]) -> list[Acted]:
    """The uses that wait for the ledger, with these of this turn; the latest of very many."""
    return [*state.get("acts", ()), *map(_packed, marked(state, who, acts))][-_RECENT:]


def latest(state: State) -> datetime:
    """When the last of what this turn has said or done was: what is done next is later, however the clock stands."""
    acts = [_EPOCH + one["at"] * _STEP for one in state.get("acts", ())]
    return max([datetime.fromisoformat(state["at"]), *acts])


def done(acts: Sequence[Acted], who: Scope) -> list[Turn]:
    """The uses that wait, as turns of the ledger."""
    return [
        Turn(
            id=TurnId(UUID(one["id"])), role="tool", text=one["text"], at=_EPOCH + one["at"] * _STEP,
            session=who.session, thread=who.thread, actor=one["agent"], source="tool", path=one["path"],
            tags=tuple(one["tags"]),
        )
        for one in acts
    ]  # fmt: skip


def marked(state: State, who: Scope, turns: Sequence[Turn]) -> list[Turn]:
    """Turns of this turn's work with its tags and path: where what was asked may not be kept, what was done for it may not
    either, for it is of the same things."""
    said = [turn(who, one, state["at"]) for one in asked(state)]
    tags = tuple(dict.fromkeys(tag for one in said for tag in one.tags))
    path = next((one.path for one in said if one.path), None)
    return [replace(one, tags=(*tags, *one.tags), path=path or one.path) for one in turns]


def handed(state: State, who: Scope, memory: Memory) -> tuple[list[Turn], dict[str, str]]:
    """What the thread holds of another agent's work since the last reply: its uses of tools as turns, and the ids of the
    messages in which a person asked for them, with their times. The same message is always the same turn."""
    new, began = set(state.get("asked", ())), datetime.fromisoformat(state["at"])
    messages = _since(state)
    last = max((n for n, one in enumerate(messages) if isinstance(one, ToolMessage)), default=-1)
    first = next((n for n, one in enumerate(messages) if one.id in new), len(messages))
    calls = {str(call["id"]): call for one in messages if isinstance(one, AIMessage) for call in one.tool_calls}
    acts: list[Turn] = []
    said: dict[str, str] = {}
    for n, one in enumerate(messages[: last + 1]):
        at = began + (n - first) * _STEP
        if isinstance(one, ToolMessage):
            acts.append(memory.act(who, _use(one, calls.get(one.tool_call_id, {}), at)))
        elif isinstance(one, HumanMessage) and one.id and one.id not in new:
            said[one.id] = at.isoformat()
    return acts, said


def _since(state: State) -> list[AnyMessage]:
    """The messages since the last reply but this turn's, oldest first."""
    said = reply(state)
    before = [one for one in state["messages"] if one is not said][-_RECENT:]
    end = next((n for n, one in enumerate(reversed(before)) if _replied(one)), len(before))
    return before[len(before) - end :]


def _replied(message: AnyMessage) -> bool:
    return isinstance(message, AIMessage) and message.name == _REPLIES


def _use(message: ToolMessage, call: Mapping[str, Any], at: datetime) -> Use:
    tags, path = message.additional_kwargs.get("tags"), message.additional_kwargs.get("path")
    return Use(
        key=message.id or message.tool_call_id,
        name=call.get("name") or message.name or "tool",
        arguments=call.get("args") or {},
        result=str(message.text),
        at=at,
        ok=message.status != "error",
        path=path if isinstance(path, str) else None,
        tags=tuple(tags or ()) if wire.texts(tags) else (),
    )


def _packed(act: Turn) -> Acted:
    at = (act.at - _EPOCH) // _STEP
    return Acted(id=str(act.id), text=act.text, at=at, agent=act.actor, path=act.path, tags=[*act.tags])
