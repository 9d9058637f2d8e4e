"""A run of an agent as a turn of a chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.types import Command

from muniment.chain.values import Identity, Message, ToolCall, ToolOutput, TurnContext, TurnOutput
from muniment.faces.langchain.placement import find_last_user_message, find_turn_start
from muniment.memory.codec import is_text_list
from muniment.memory.domain.scope import Scope
from muniment.nodes.chain.messages import convert_messages, is_from_machine, list_shown

_RUN = "langchain.run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a run of an agent has beside the values of a chain: its scope, its messages as they are, and its state."""

    scope: Scope
    messages: Sequence[AnyMessage]
    state: Mapping[str, Any] = field(default_factory=dict)


def make_context(run: Run, at: datetime, agent: str | None) -> TurnContext:
    """Return the turn of a run. Its id is that of the user's last message; tags and path are those of this message.

    A run without a thread is a session of its own."""
    place = find_last_user_message(run.messages)
    message = None if place is None else run.messages[place]
    turn_id = str((message and message.id) or uuid4())
    extra = {} if message is None else message.additional_kwargs
    tags, path = extra.get("tags"), extra.get("path")
    scope = run.scope
    identity = Identity(
        user=scope.owner,
        session=scope.thread or scope.run or turn_id,
        tenant=scope.tenant,
        project=scope.project,
        app=scope.app,
        agent=agent,
    )
    return TurnContext(
        turn_id=turn_id,
        identity=identity,
        messages=convert_messages(run.messages),
        at=at,
        is_machine=message is not None and is_from_machine(message),
        tags=tuple(tags) if tags and is_text_list(tags) else (),
        path=path if isinstance(path, str) else None,
        attributes=MappingProxyType({_RUN: run}),
    )


def set_run(context: TurnContext, run: Run) -> Mapping[str, Any]:
    """Return the attributes of a turn with another state of its run."""
    return MappingProxyType({**context.attributes, _RUN: run})


def get_run(context: TurnContext) -> Run | None:
    """Return the run of a turn; None for a turn of another host."""
    run = context.attributes.get(_RUN)
    return run if isinstance(run, Run) else None


def make_output(messages: Sequence[AnyMessage], at: datetime) -> TurnOutput:
    """Return how a run ended: with the messages since the user's last one."""
    added = list_shown(messages[find_turn_start(messages) :])
    converted: list[Message] = [message for message in convert_messages(added) if message.role != "user"]
    reply = next((message.text for message in reversed(converted) if message.role == "assistant"), "")
    return TurnOutput(text=reply, at=at, messages=tuple(converted))


def make_tool_output(call: Mapping[str, Any], result: object, at: datetime) -> ToolOutput | None:
    """Return what a tool gave; None for a result without a message."""
    made = ToolCall(id=str(call.get("id") or ""), name=str(call["name"]), arguments=call.get("args") or {})
    if isinstance(result, Exception):
        return ToolOutput(call=made, text=f"{type(result).__name__}: {result}", at=at, is_error=True)
    if isinstance(result, Command):
        update = result.update if isinstance(result.update, Mapping) else {}
        result = next((each for each in update.get("messages", ()) if isinstance(each, ToolMessage)), None)
    if not isinstance(result, ToolMessage):
        return None
    return ToolOutput(call=made, text=str(result.text), at=at, is_error=result.status == "error")


def make_reply(text: str, name: str) -> AIMessage:
    """Return the answer of a middleware as a message."""
    return AIMessage(text, name=name)
