"""The state that the graph carries from node to node, the scope of a run, and messages as turns of the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict  # Pydantic refuses typing's own on Python 3.11, and the server needs a schema

from muniment.memory import codec
from muniment.memory.client import Memory
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import ToolUse, Turn
from muniment.memory.errors import BadInput, Denied

DEFAULT_USER = "me"
ID_CHANNELS = frozenset(
    {"asked", "at", "to_learn", "to_record", "to_confirm", "was_asked", "told_at", "run", "portions", "findings"}
)  # of the state: what holds ids and times, no text
_MAX_NAME_CHARS = 500
_MAX_TOOL_MESSAGES = 200  # messages of a thread that are read for tool calls, and tool calls that wait
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)  # between messages of one time, so that the ledger keeps their order
_REPLY_NAME = "supervisor"
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
    to_settle: list[str]  # ids of the memories of which the last reply asked whether they replace others
    reports: list[Report]
    handoff: Task | None
    handoffs: int
    unread: str  # why the turn goes on without memory, one sentence
    unmet: str  # requests to forget that matched nothing, a sentence each
    unwritten: str  # why something of the turn was not stored, one sentence
    refused: bool  # the message itself is not valid
    from_memory: bool  # the reply quotes memory: no model has made it
    fresh: list[str]  # those of `bullets` that this conversation has not just said
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


def tag_turns(state: State, scope: Scope, turns: Sequence[Turn]) -> list[Turn]:
    """The turns with the tags and the path of the user's messages, so that the denylist holds for both alike."""
    user_turns = [make_turn(scope, message, state["at"]) for message in find_turn_messages(state)]
    tags = tuple(dict.fromkeys(tag for turn in user_turns for tag in turn.tags))
    path = next((turn.path for turn in user_turns if turn.path), None)
    return [replace(turn, tags=(*tags, *turn.tags), path=path or turn.path) for turn in turns]


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
            use = _make_tool_use(message, calls.get(message.tool_call_id, {}), at)
            turns.append(memory.conversation.make_tool_turn(scope, use))
        elif isinstance(message, HumanMessage) and message.id and message.id not in new_ids:
            times[message.id] = at.isoformat()
    return add_pending_turns(state, scope, turns) if turns else list(state.get("acts", ())), times


def _make_tool_use(message: ToolMessage, call: Mapping[str, Any], at: datetime) -> ToolUse:
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
