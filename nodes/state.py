"""The state that the graph carries from node to node, and the scope of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict  # Pydantic refuses typing's own on Python 3.11, and the server needs a schema

from muniment.memory import codec
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput, Denied

DEFAULT_USER = "me"
ID_CHANNELS = frozenset(
    {"asked", "at", "to_learn", "to_record", "to_confirm", "was_asked", "told_at", "run", "portions", "findings"}
)  # of the state: what holds ids and times, no text
_MAX_NAME_CHARS = 500
_MEMORY = (
    "What a run from an earlier checkpoint reads: then - memory as it was at that checkpoint, also for the turns that "
    "follow; now - memory as it is. What is said is remembered today either way."
)


class Task(TypedDict):
    """A task that the supervisor gives to a subagent."""

    agent: str
    task: str


class Report(Task):
    """The answer of a subagent; a part of this turn only."""

    text: str


class PendingToolTurn(TypedDict):
    """A tool call that is not in the ledger yet, redacted and shortened as it will be there."""

    id: str
    text: str
    at: int  # microseconds since 1970: redaction could take a text of digits for a phone number
    agent: str | None
    path: str | None
    tags: list[str]


class Input(TypedDict):
    """The input of a run."""

    messages: Annotated[list[AnyMessage], add_messages]


class State(TypedDict, total=False):
    """A thread. `messages` lasts and has no text of memory; the rest is of the latest turn unless a comment differs."""

    messages: Annotated[list[AnyMessage], add_messages]
    space: str  # the owner's space; lasts
    told_offline: bool  # lasts: the hint that no model is configured is given once
    asked: list[str]  # ids of the user's messages of this turn
    at: str  # when the turn began, ISO: a resumed turn is the same turn
    rev: int | None  # the revision that was read, None when memory could not be read
    as_of: int | None  # the revision to read, of a thread that goes on from an earlier checkpoint; None is the last
    step: int  # LangGraph's number of the last step whose node has settled `as_of`
    stable: str
    header: str
    bullets: list[str]
    moving: str
    writes: list[dict[str, Any]]
    recalled: list[int]  # shingle hashes of the memories that a model was shown
    asking: list[dict[str, str]]  # changes of the profile that need consent: id, field, value, question
    decided: str  # what became of an earlier question, one sentence
    was_asked: list[str]  # lasts: ids of the requests that the thread was asked about
    to_confirm: list[str]  # ids of the requests that the last reply asked about: the next message may answer
    reports: list[Report]
    handoff: Task | None
    handoffs: int
    unread: str  # why the turn goes on without memory, one sentence
    unmet: str  # requests to forget that matched nothing, a sentence each
    unwritten: str  # why something of the turn was not stored, one sentence
    refused: bool  # the message itself is not valid
    to_learn: dict[str, str]  # message id -> time: what memory could not take yet; the next turn tries again
    to_record: dict[str, str]  # the same for the ledger
    acts: list[PendingToolTurn]  # tool calls that the ledger does not have yet
    untold: int  # turns since memory was last asked to capture an episode
    told_at: str  # the time of that request, or of the thread's first turn, ISO


@dataclass(frozen=True, kw_only=True)
class Who:
    """The context of a run: its user. Without `tenant` it is the server's, without `thread` LangGraph's."""

    user: str = DEFAULT_USER
    tenant: str | None = None
    thread: str | None = None
    project: str | None = None
    memory: Annotated[Literal["then", "now"], Field(description=_MEMORY)] = "then"


def resolve_scope(runtime: Runtime[Who], config: RunnableConfig, tenant: str) -> Scope:
    """The scope of a run; `tenant` is the server's. An authenticated user takes precedence over the context.

    Raises Denied when the context names another user, BadInput when it names none."""
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
    elif context.tenant:
        tenant = context.tenant
    owner = identified or context.user
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
    ):
        if len(value) > _MAX_NAME_CHARS or not codec.is_storable(value):
            raise BadInput(f"context: {name} has a NUL, half a character, or more than {_MAX_NAME_CHARS} characters")
    run = configurable.get("run_id") or (info.run_id if info else None)
    key, run_id = str(thread) if thread else None, str(run) if run else None
    return Scope(owner=owner, tenant=tenant, thread=key, session=key, run=run_id, project=context.project)


def get_run_context(runtime: Runtime[Who]) -> Who:
    """The context of a run, as the caller has given it. Raises BadInput for a value that is no text."""
    context: Who | None = runtime.context  # None without one, although LangGraph's types differ
    who = context or Who()
    for name, value in (("user", who.user), ("tenant", who.tenant or ""), ("project", who.project or "")):
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


def find_unanswered(messages: Sequence[AnyMessage]) -> list[HumanMessage]:
    """The user's messages since the last reply."""
    unanswered: list[HumanMessage] = []
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            break
        if isinstance(message, HumanMessage):
            unanswered.append(message)
    return unanswered[::-1]


def find_turn_messages(state: State) -> list[HumanMessage]:
    """The user's messages of this turn."""
    ids = set(state.get("asked", ()))
    return [message for message in state["messages"] if isinstance(message, HumanMessage) and message.id in ids]


def get_reply(state: State) -> AIMessage | None:
    """The reply of this turn; None before there is one."""
    last = state["messages"][-1] if state["messages"] else None
    return last if isinstance(last, AIMessage) else None


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
        tags=tuple(tags or ()) if codec.is_text_list(tags) else (),
        path=path if isinstance(path, str) else None,
    )
