"""The nodes of a run of the hybrid agent: begin, recall, reply, persist."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime

from muniment.agent.gateway_service import AuditEvent, Exchange
from muniment.agent.parts import Host
from muniment.agent.transcript import make_event, make_message, make_session_scope, record_turns
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput, Denied, ModelError, StoreError, TooLarge
from muniment.nodes.chat_model import RunModel
from muniment.nodes.entry import get_identity, resolve_scope
from muniment.nodes.hybrid.loop import run_loop
from muniment.nodes.hybrid.request import RunRequest, build_history, build_system_prompt
from muniment.nodes.hybrid.state import HybridState
from muniment.nodes.hybrid.toolbox import RunTools
from muniment.nodes.prompts import load_prompt
from muniment.nodes.reply_stream import ReplyStream
from muniment.nodes.state import DEFAULT_USER, Who

NAME = "hybrid"
_TICK = timedelta(milliseconds=1)  # between messages: a gateway counts in milliseconds
_LONG_TEXT = 4_000  # characters from which a prompt is redacted beside the event loop


async def begin_run(
    state: HybridState,
    runtime: Runtime[Who],
    config: RunnableConfig,
    *,
    memory: Memory,
    settings: Settings,
    host: Host,
) -> HybridState:
    """Resolve the session, take the prompt, and take the snapshot of the curated files.

    The thread keeps the prompt without secrets. Raises Denied for another user than the agent's, BadInput without a
    prompt, TooLarge."""
    owner = _resolve_owner(runtime, config, settings, host)
    if state.get("space") not in {None, str(owner.space)}:
        raise Denied("This thread belongs to another user.")
    session = state.get("session") or owner.thread or str(uuid4())
    make_session_scope(owner, session)  # a name that cannot be one is refused before anything is done
    messages = _find_prompt(state)
    prompt = "\n".join(str(message.text) for message in messages)
    if not prompt.strip():
        raise BadInput("messages: a message of the user with a text is wanted")
    if (size := len(prompt)) > (most := settings.limits.turn_chars):
        raise TooLarge(f"the message has {size:,} characters; at most {most:,} are allowed", size=size)
    snapshot = await host.curated.take_snapshot()
    asked_at = _find_time(memory.now(), state.get("at"))
    return HybridState(
        space=str(owner.space),
        session=session,
        asked=[str(message.id) for message in messages],
        at=asked_at.isoformat(),
        asked_at=asked_at.isoformat(),
        prompt=prompt,
        curated=snapshot.prompt,
        reference="",
        reply="",
        messages=await _redact_messages(messages, memory),
    )


async def recall_memory(
    state: HybridState,
    runtime: Runtime[Who],
    config: RunnableConfig,
    *,
    memory: Memory,
    settings: Settings,
    host: Host,
) -> HybridState:
    """Ask the gateway once, where there is one, and record the prompt and what came of the request."""
    scope = _resolve_session(state, runtime, config, settings, host)
    turns = [_make_prompt_turn(state, scope, settings)]
    reference = ""
    if host.gateway is not None:
        recall = await host.gateway.recall_before_run(state["session"], state["prompt"])
        reference = recall.reference or ""
        turns += _make_events(state, scope, (recall.audit,), state["asked_at"])
    await record_turns(memory, scope, turns)
    return HybridState(reference=reference)


async def write_reply(
    state: HybridState,
    runtime: Runtime[Who],
    config: RunnableConfig,
    *,
    memory: Memory,
    settings: Settings,
    host: Host,
    model: BaseChatModel,
    tools: ToolNode,
) -> HybridState:
    """Ask the model until it has answered, and record its calls and its answer. Raises ModelError."""
    scope = _resolve_session(state, runtime, config, settings, host)
    curated = state.get("curated")
    if curated is None:  # the run goes on in another process, which has no snapshot
        curated = (await host.curated.take_snapshot()).prompt
    prompt = state.get("prompt") or "\n".join(str(each.text) for each in _find_asked(state))
    toolbox = RunTools(
        memory=memory,
        scope=scope,
        given=tools,
        skills=host.skills,
        key=state["asked"][0],
        began=datetime.fromisoformat(state["at"]),
        hidden={_make_prompt_turn(state, scope, settings).id},
        state=state,
    )
    request = RunRequest(
        system=build_system_prompt(
            host.instructions or load_prompt(NAME), curated, has_gateway=host.gateway is not None
        ),
        reference=state.get("reference", ""),
        history=build_history(
            state["messages"],
            state["asked"],
            settings.limits.turn_chars,
            settings.threads.max_tokens,
            memory.conversation.count_tokens,
        ),
        prompt=prompt,
    )
    stream = ReplyStream(NAME, {tool.name for tool in toolbox.list_tools()}, memory.conversation.redact)
    metered = memory.conversation.meter_model(scope, RunModel(model, stream))
    try:
        answer = await run_loop(metered, stream, request, toolbox, host.tool_limit)
    except ModelError:
        await record_turns(memory, scope, toolbox.turns)
        raise
    message = stream.end_answer(answer, answer.message.content)
    last = toolbox.turns[-1].at if toolbox.turns else datetime.fromisoformat(state["at"])
    answered_at = _find_time(memory.now(), last.isoformat())
    said = make_message(scope, str(message.id), "assistant", str(message.text), answered_at, settings.limits.turn_chars)
    await record_turns(memory, scope, [*toolbox.turns, said])
    return HybridState(messages=[message], at=answered_at.isoformat(), reply=str(message.text))


async def persist_run(
    state: HybridState,
    runtime: Runtime[Who],
    config: RunnableConfig,
    *,
    memory: Memory,
    settings: Settings,
    host: Host,
) -> HybridState:
    """Give the gateway the prompt and the answer of a run that has ended well, and record what came of it.

    A run that goes on in another process gives nothing: whether the gateway has it already nobody knows."""
    scope = _resolve_session(state, runtime, config, settings, host)
    if host.gateway is not None and (prompt := state.get("prompt")) and (asked_at := state.get("asked_at")):
        exchange = Exchange(
            prompt=prompt,
            asked_at=datetime.fromisoformat(asked_at),
            answer=state.get("reply", ""),
            answered_at=datetime.fromisoformat(state["at"]),
        )
        events = await host.gateway.persist_after_run(state["session"], exchange)
        await record_turns(memory, scope, _make_events(state, scope, events, state["at"]))
    with suppress(StoreError):  # what the model has cost is written with a later run
        await memory.conversation.flush(scope)
    return HybridState()


def _find_prompt(state: HybridState) -> list[HumanMessage]:
    """Return the user's messages since the last answer, without those of a run that had none."""
    messages = state["messages"]
    start = next((n for n in range(len(messages), 0, -1) if isinstance(messages[n - 1], AIMessage)), 0)
    said = [message for message in messages[start:] if isinstance(message, HumanMessage)]
    before = state.get("asked", ())
    return [message for message in said if message.id not in before] or said


def _find_asked(state: HybridState) -> list[AnyMessage]:
    return [message for message in state["messages"] if message.id in state["asked"]]


async def _redact_messages(messages: Sequence[HumanMessage], memory: Memory) -> list[AnyMessage]:
    """Return those messages that have secrets, without them and with the same ids: they replace those of the thread."""
    redact = memory.conversation.redact
    clean: list[AnyMessage] = []
    for message in messages:
        text = str(message.text)
        safe = await asyncio.to_thread(redact, text) if len(text) > _LONG_TEXT else redact(text)
        if safe != text:
            clean.append(message.model_copy(update={"content": safe}))
    return clean


def _resolve_owner(runtime: Runtime[Who], config: RunnableConfig, settings: Settings, host: Host) -> Scope:
    """Return the scope of the agent's user. Who names nobody, where nobody has to log in, is that user.

    Raises Denied for anybody else."""
    owner = resolve_scope(runtime, config, settings.tenant)
    if owner.owner == DEFAULT_USER and get_identity(runtime, config.get("configurable", {})) is None:
        owner = replace(owner, owner=host.user)
    if owner.owner != host.user:
        raise Denied("This agent is of another user: its files and its gateway are theirs.")
    return owner


def _resolve_session(
    state: HybridState, runtime: Runtime[Who], config: RunnableConfig, settings: Settings, host: Host
) -> Scope:
    """Return the scope of the run's session. Raises Denied where the thread is another user's."""
    owner = _resolve_owner(runtime, config, settings, host)
    if state["space"] != str(owner.space):
        raise Denied("This thread belongs to another user.")
    return make_session_scope(owner, state["session"])


def _make_prompt_turn(state: HybridState, scope: Scope, settings: Settings) -> Turn:
    messages = _find_asked(state)
    text = "\n".join(str(message.text) for message in messages)
    at = datetime.fromisoformat(state.get("asked_at") or state["at"])
    return make_message(scope, state["asked"][0], "user", text, at, settings.limits.turn_chars)


def _make_events(state: HybridState, scope: Scope, events: Sequence[AuditEvent], at: str) -> list[Turn]:
    key = state["asked"][0]
    return [make_event(scope, f"{key} {event.name}", event, datetime.fromisoformat(at)) for event in events]


def _find_time(now: datetime, before: str | None) -> datetime:
    """Return the time of a message in whole milliseconds, later than that of the message before."""
    whole = now.replace(microsecond=now.microsecond // 1_000 * 1_000)
    if before is None:
        return whole
    last = datetime.fromisoformat(before)
    return max(whole, last.replace(microsecond=last.microsecond // 1_000 * 1_000) + _TICK)
