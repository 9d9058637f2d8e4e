"""The turns of the supervisor graph as those of a chain: what a host makes of one, and what leaves a thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, cast
from uuid import UUID

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from muniment.chain.host import Host
from muniment.chain.outcome import build_reply
from muniment.chain.values import Addition, Identity, TurnContext, TurnOutput
from muniment.memory.config.settings import Settings
from muniment.memory.domain.query import Brief
from muniment.memory.domain.scope import Scope
from muniment.nodes.chain.messages import convert_messages, list_shown, mark_aside
from muniment.nodes.chain.prompt_window import find_start, list_readable, list_waiting
from muniment.nodes.entry import find_turn_messages, get_reply, make_turn
from muniment.nodes.state import State

NAME = "supervisor"
MEMORY = "muniment.memory"  # of the attributes of a turn: what a middleware lets the graph do with its own memory
OFF: Literal["off"] = "off"  # neither read nor written in this turn
SHOWN = "muniment.shown"  # `Shown`: what the graph has put before the model itself
SCOPE = "muniment.scope"  # of the run


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The ids of memories that were put before a model, and the text in which they stood."""

    ids: tuple[str, ...] = ()
    text: str = ""


def make_context(state: State, scope: Scope, messages: Sequence[AnyMessage], at: datetime) -> TurnContext:
    """Return the turn of a state, with these messages of its thread. Its id is that of the user's last message."""
    asked = state.get("asked", [])
    own = [message for message in messages if isinstance(message, HumanMessage) and message.id in set(asked)]
    turns = [make_turn(scope, message, at.isoformat()) for message in own]
    text = "\n\n".join(filter(None, [state.get("stable", ""), state.get("moving", "")]))
    attributes: Mapping[str, Any] = {SCOPE: scope, SHOWN: Shown(ids=tuple(state.get("shown", ())), text=text)}
    if state.get("is_off"):
        attributes = {**attributes, MEMORY: OFF}
    return TurnContext(
        turn_id=asked[-1] if asked else str(scope.run or at.isoformat()),
        identity=Identity(
            user=scope.owner,
            session=scope.session or str(scope.run or ""),
            tenant=scope.tenant,
            project=scope.project,
            app=scope.app,
            agent=NAME,
        ),
        messages=convert_messages(messages),
        at=at,
        additions=tuple(
            Addition(source=each["source"], text=each["text"], placement=cast("Any", each["placement"]))
            for each in state.get("additions", ())
        ),
        tags=tuple(dict.fromkeys(tag for turn in turns for tag in turn.tags)),
        path=next((turn.path for turn in turns if turn.path), None),
        attributes=MappingProxyType(dict(attributes)),
    )


async def ask_chain(host: Host, state: State, update: State, scope: Scope) -> State:
    """Return what the middlewares of a host make of a turn that begins with an update: what they add, whether memory is
    off, or their reply.

    With a reply both it and the user's message are marked, so that no model is shown them; what the user has said just
    before, which no reply has followed, waits for the next turn."""
    changed = {message.id: message for message in update["messages"]}
    messages = [changed.get(message.id, message) for message in state["messages"]]
    begun, at = state | update, datetime.fromisoformat(update["at"])
    turn = await host.prepare(make_context(begun, scope, messages, at))
    if turn.reply is None:
        added = [{"source": each.source, "text": each.text, "placement": each.placement} for each in turn.additions]
        return State(additions=added, is_off=turn.attributes.get(MEMORY) == OFF)
    if (output := build_reply(turn, at)) is not None:
        host.finish(turn, output)
    asked = begun.get("asked", [])
    waiting = dict.fromkeys(asked[:-1], update["at"])
    changed |= {message.id: mark_aside(message) for message in messages if message.id in asked[-1:]}
    return State(
        messages=[*changed.values(), mark_aside(AIMessage(turn.reply, name=NAME))],
        asked=[],
        is_aside=True,
        to_learn={**begun.get("to_learn", {}), **waiting},
        to_record={**begun.get("to_record", {}), **waiting},
    )


def list_shown_ids(brief: Brief) -> list[str]:
    """Return the ids of the memories that a brief shows; a line of it may be a field of the profile."""
    return [*(key for key in brief.stable_keys if _is_id(key)), *brief.bullet_keys]


def finish_turn(host: Host, state: State, scope: Scope, at: datetime) -> None:
    """Begin what the middlewares of a host do behind the reply of a turn."""
    reply = get_reply(state)
    if reply is None or not find_turn_messages(state):
        return
    context = make_context(state, scope, list_shown(state["messages"][:-1]), at)
    host.finish(context, TurnOutput(text=str(reply.text), at=at, messages=convert_messages([reply])))


async def choose_first(
    host: Host | None,
    state: State,
    scope: Scope,
    settings: Settings,
    count_tokens: Callable[[str], int],
    beside: str,
    at: datetime,
) -> str:
    """Return the id of the first message that a prompt keeps, with the text that goes `beside` the messages; empty for
    all.

    What has left stays away. What leaves by it is told to the middlewares first, once: where one fails it stays this
    time, and the prompt is longer."""
    messages = list_readable(state["messages"], settings.limits.turn_chars)
    left = state.get("left", "")
    held = next((n for n, message in enumerate(messages) if left and message.id == left), 0)
    waiting, most = list_waiting(state), settings.threads.max_tokens
    start = find_start(messages, waiting, most, count_tokens, beside=beside, held=held)
    if host is not None and start > held:
        context = make_context(state, scope, messages, at)
        if not await host.compact(context, convert_messages(messages[held:start])):
            start = held
    return str(messages[start].id) if 0 < start < len(messages) else ""


def _is_id(key: str) -> bool:
    try:
        UUID(key)
    except ValueError:
        return False
    return True
