"""What the nodes of a turn share: whose memory a run uses and as of when, the turn's messages, and what is done when
memory fails.

A run goes on where its thread ends, or from an earlier checkpoint: then it reads memory as it was then. The nodes store
the step at which they ran, so that a run whose steps go on without a gap reads no checkpoint."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from langgraph.types import Command

from muniment.memory import codec
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.journal import Node
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.domain.usage import Op, OpsEvent
from muniment.memory.errors import BadInput, Denied, MunimentError
from muniment.nodes.history import open_history
from muniment.nodes.state import DEFAULT_USER, State, Who

_log = logging.getLogger(__name__)
_MAX_NAME_CHARS = 500
_QUESTION_START = re.compile(
    r"(what|who|whom|whose|when|where|which|why|how|do|does|did|is|are|am|was|were|can|could|should|will|would|"
    r"tell me|remind me|show me|(?:may|shall) (?:i|we))\b",
    re.IGNORECASE,
)
_QUESTION_END = re.compile(r"[?？][\s\"'”’)]*$|[吗呢][。!！]?$|什么|谁|哪|几时|怎么")
QUESTION_CHARS = 4_000  # of a message that are looked at for what it asks
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]{3,}")
_STOP_WORDS = re.compile(
    r"the|and|for|are|was|were|what|who|when|where|which|why|how|does|did|can|could|would|you|your|user|has|have|had|"
    r"that|this|with|about|tell|show|remind|from|的|了|是|我|你"
)
_STEPS_TO_NEXT_TURN = 3  # from the last node of a turn to the first of the next: input and start are steps, too
_STEPS_TO_NEXT_NODE = 1
_STEP_BEFORE_FIRST = -2  # so that the first node of a thread, which runs at step 1, is a next turn


async def run_node(
    state: State,
    runtime: Runtime[Who],
    config: RunnableConfig,
    *,
    step: Callable[[State, Scope], Awaitable[State | Command[Any]]],
    settings: Settings,
    has_writes: bool = False,
    is_parallel: bool = False,
) -> State | Command[Any]:
    """Settle whose memory the node uses and as of when, call `step(state, scope)`, and return its update with `as_of`.

    The owner is checked for each node: a run may resume or replay a turn at any of them. `has_writes`: the hot path is
    over. `is_parallel`: another node of the same step settles `as_of`. Raises Denied, BadInput."""
    scope = resolve_scope(runtime, config, settings.tenant, settings.users.required)
    if state.get("space") not in {None, str(scope.space)}:
        raise Denied("This thread belongs to another user.")
    place = State() if is_parallel else await _continue_turn(state, runtime, config, has_writes=has_writes)
    result = await step(state | place, scope)
    if isinstance(result, Command):
        return replace(result, update=drop_unchanged(state, cast("State", place | (result.update or {}))))
    return drop_unchanged(state, place | result)


def drop_unchanged(state: State, update: State) -> State:
    """The update without what the state has already: each value that is written is saved with the checkpoint."""
    given: dict[str, Any] = {**update}
    old: dict[str, Any] = {**state}
    kept = {name: new for name, new in given.items() if name == "messages" or name not in old or old[name] != new}
    return cast("State", kept)


async def report_failure(memory: Memory, scope: Scope, node: Node, op: Op, error: MunimentError) -> str:
    """Log the failure, track it where that is possible, and return the sentence for the user."""
    if isinstance(error, BadInput):
        return str(error)
    _log.warning("memory failed in %s: %s: %s", node, type(error).__name__, error)
    with suppress(MunimentError):  # the failure may be one of the store that keeps the events
        await memory.conversation.track(
            scope, OpsEvent(node=node, op=op, status="error", ts=memory.now(), thread_id=scope.thread)
        )
    consequence = "was made without it" if node == "context" else "may not be remembered"
    return f"Memory is unavailable at the moment ({type(error).__name__}), so this reply {consequence}."


def resolve_scope(
    runtime: Runtime[Who],
    config: RunnableConfig,
    tenant: str,
    required: Literal["always", "server", "never"] = "never",
) -> Scope:
    """The scope of a run; `tenant` is the server's. An authenticated user takes precedence over the context.

    Raises Denied when the context names another user, BadInput when it names none where one is `required`."""
    context = get_run_context(runtime)
    configurable = config.get("configurable", {})
    identified = get_identity(runtime, configurable)
    if identified and context.user not in {DEFAULT_USER, identified}:
        raise Denied("The context names another user than the one who is logged in.")
    if identified:
        own_tenant = _read_claim(runtime, "tenant") or tenant
        if context.tenant not in {None, own_tenant}:
            raise Denied("The context names another tenant than the one of the user who is logged in.")
        tenant = own_tenant
    tenant = context.tenant or tenant
    owner = identified or context.user
    wants_name = required == "always" or (required == "server" and runtime.server_info is not None)
    if wants_name and not identified and owner == DEFAULT_USER:
        raise BadInput(f'context: user is missing, or the default {owner!r}; name it, as in {{"user": "ana"}}')
    if not owner.strip():
        raise BadInput("context: user is empty")
    if context.memory not in ("then", "now"):
        raise BadInput("context: memory is 'then' or 'now'")
    info = runtime.execution_info
    thread = context.thread or configurable.get("thread_id") or (info.thread_id if info else None)
    for name, value in (
        ("user", owner),
        ("tenant", tenant),
        ("thread", str(thread or "")),
        ("project", context.project or ""),
        ("app", context.app or ""),
    ):
        if len(value) > _MAX_NAME_CHARS or not codec.is_storable(value):
            raise BadInput(f"context: {name} has a NUL, half a character, or more than {_MAX_NAME_CHARS} characters")
    run = configurable.get("run_id") or (info.run_id if info else None)
    key, run_id = str(thread) if thread else None, str(run) if run else None
    return Scope(
        owner=owner, tenant=tenant, thread=key, session=key, run=run_id, project=context.project, app=context.app
    )


def get_run_context(runtime: Runtime[Who]) -> Who:
    """The context of a run, as the caller has given it. Raises BadInput for a value that is no text."""
    context: Who | None = runtime.context  # None without one, although LangGraph's types differ
    who = context or Who()
    optional = ((name, getattr(who, name) or "") for name in ("tenant", "project", "app"))
    for name, value in (("user", who.user), *optional):
        if not isinstance(value, str):
            raise BadInput(f"context: {name}: {codec.describe_shape(value)} given, text wanted")
    return who


def get_identity(runtime: Runtime[Who], configurable: dict[str, Any]) -> str | None:
    """The user that LangGraph's server has authenticated; None without authentication, where the server has ''."""
    user = runtime.server_info.user if runtime.server_info else None
    return (user.identity if user else None) or configurable.get("langgraph_auth_user_id") or None


def _read_claim(runtime: Runtime[Who], name: str) -> str | None:
    user = runtime.server_info.user if runtime.server_info else None
    return str(user[name]) if user and name in user and user[name] else None


def get_step(config: RunnableConfig) -> int:
    """The step at which a node runs."""
    return int(config.get("metadata", {}).get("langgraph_step", 0))


async def find_owner(runtime: Runtime[Who], config: RunnableConfig) -> str | None:
    """The space that owns a thread whose state names none; None for a new thread.

    For a run that starts before the thread's first turn the other checkpoints name the owner: otherwise a stranger
    could start there and take the thread. A thread whose first turn was cut short belongs to the first speaker."""
    history = open_history(runtime, config)
    if history is None:
        return None
    first: str | None = None
    async for checkpoint in history.list_checkpoints():
        if checkpoint.space:
            return checkpoint.space
        first = checkpoint.speaker or first
    return first


async def begin_turn(state: State, runtime: Runtime[Who], config: RunnableConfig, ids: Sequence[str]) -> State:
    """For the first node of a turn: the revision to read memory at, None for the last one, and the step.

    In the past, messages that are sent again read the revision that they have read before. Others read the last one
    that the checkpoint's turn has read or written, or a turn before it, or else the first one after it. A thread that
    goes on from there keeps this revision until a run's context has `memory="now"`."""
    step, as_of = get_step(config), state.get("as_of")
    if get_run_context(runtime).memory == "now":
        return State(as_of=None, step=step)
    has_gap = step != state.get("step", _STEP_BEFORE_FIRST) + _STEPS_TO_NEXT_TURN
    is_started = has_gap or config.get("metadata", {}).get("checkpoint_id")
    if is_started and (history := open_history(runtime, config)) and await history.has_diverged():
        as_of = await history.find_turn_revision(ids)
        if as_of is None:
            as_of = _get_last_revision(state)
        if as_of is None:
            as_of = await history.find_last_revision()
        if as_of is None:
            as_of = await history.find_later_revision()
    return State(as_of=as_of, step=step)


async def _continue_turn(
    state: State, runtime: Runtime[Who], config: RunnableConfig, *, has_writes: bool = False
) -> State:
    """For a later node of a turn: the same. In the past, the turn's own revision decides.

    `has_writes`: after the hot path, when the turn's own changes are part of what it reads."""
    step, as_of = get_step(config), state.get("as_of")
    if get_run_context(runtime).memory == "now":
        return State(as_of=None, step=step)
    has_gap = step != state.get("step", _STEP_BEFORE_FIRST) + _STEPS_TO_NEXT_NODE
    if as_of is None and has_gap and (history := open_history(runtime, config)) and await history.has_diverged():
        as_of = _get_last_revision(state) if has_writes else state.get("rev")
    return State(as_of=as_of, step=step)


def _get_last_revision(state: State) -> int | None:
    """The last revision that the turn of a checkpoint has read or written."""
    if (as_of := state.get("as_of")) is not None:
        return as_of
    revisions = [state.get("rev"), *(change.get("rev") for change in state.get("writes", ()))]
    return max((rev for rev in revisions if rev is not None), default=None)


def find_turn_messages(state: State) -> list[HumanMessage]:
    """The user's messages of this turn."""
    ids = set(state.get("asked", ()))
    return [message for message in state["messages"] if isinstance(message, HumanMessage) and message.id in ids]


def find_previous(messages: Sequence[AnyMessage], message: AnyMessage, most: int = 2) -> list[AnyMessage]:
    """The messages with text of both sides just before a message, oldest first."""
    before = messages[: next((n for n, each in enumerate(messages) if each is message), 0)]
    spoken = [each for each in before[-8:] if isinstance(each, HumanMessage | AIMessage) and str(each.text).strip()]
    return list(spoken[-most:])


def get_reply(state: State) -> AIMessage | None:
    """The reply of this turn; None before there is one."""
    last = state["messages"][-1] if state["messages"] else None
    return last if isinstance(last, AIMessage) else None


def make_output(state: State) -> State:
    """What a run returns of its turn, beside the messages and the header."""
    reply = get_reply(state)
    return State(
        reply=str(reply.text) if reply else "",
        revision=state.get("rev"),
        written=state.get("writes", []),
        waiting=state.get("asking", []),
    )


def make_turn(scope: Scope, message: AnyMessage, at: str, recalled: Sequence[int] = ()) -> Turn:
    """A message as a turn of the ledger: the same message of the same thread is always the same turn.

    Tags and path come from its `additional_kwargs`. `recalled`: shingle hashes of what memory gave for it."""
    role: Literal["user", "assistant"] = "user" if isinstance(message, HumanMessage) else "assistant"
    tags, path = message.additional_kwargs.get("tags"), message.additional_kwargs.get("path")
    return Turn.make(
        session=scope.session or "",
        key=message.id or "",
        role=role,
        text=str(message.text),
        at=datetime.fromisoformat(at),
        thread=scope.thread,
        actor=scope.actor,
        recalled=tuple(recalled),
        tags=tuple(tags) if tags and codec.is_text_list(tags) else (),
        path=path if isinstance(path, str) else None,
    )


def tag_turns(state: State, scope: Scope, turns: Sequence[Turn]) -> list[Turn]:
    """The turns with the tags and the path of the user's messages, so that the denylist holds for both alike."""
    user_turns = [make_turn(scope, message, state["at"]) for message in find_turn_messages(state)]
    tags = tuple(dict.fromkeys(tag for turn in user_turns for tag in turn.tags))
    path = next((turn.path for turn in user_turns if turn.path), None)
    return [replace(turn, tags=(*tags, *turn.tags), path=path or turn.path) for turn in turns]


def is_question(text: str) -> bool:
    """Whether a message asks something."""
    said = text.strip()
    return bool(_QUESTION_START.match(said) or _QUESTION_END.search(said[-QUESTION_CHARS:]))


def find_stems(text: str) -> set[str]:
    """The first four letters of a text's words, without stop words: roughly their stems."""
    return {word[:4] for word in _WORD.findall(text.casefold()) if not _STOP_WORDS.fullmatch(word)}
