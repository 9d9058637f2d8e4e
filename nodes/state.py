"""The state that the graph carries from node to node, and the context of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.channels import UntrackedValue
from langgraph.graph.message import add_messages
from pydantic import Field
from typing_extensions import TypedDict  # Pydantic refuses typing's own on Python 3.11, and the server needs a schema

DEFAULT_USER = "me"
# Of the stream mode `custom`: what a run reads, writes, and what memory does not take or does not show.
READ_EVENT, WRITTEN_EVENT, REFUSED_EVENT = "memory.read", "memory.written", "memory.refused"
ID_CHANNELS = frozenset(
    {
        "asked",
        "at",
        "to_learn",
        "to_record",
        "to_confirm",
        "was_asked",
        "told_at",
        "recalled",
        "run",
        "portions",
        "findings",
        "shown",
        "left",
    }
)  # fmt: skip - of the state: what holds ids, hashes and times, no text
_MEMORY = (
    "What a run from an earlier checkpoint reads: then - memory as it was at that checkpoint, also for the turns that "
    "follow; now - memory as it is. What is said is remembered today either way."
)


_USER = "Whose memory it is. On a server with logins it is the login's user, and another name is refused."
_TENANT = "The tenant of the user; the server's, or the login's, where it is left out."
_THREAD = "The conversation's name in memory; LangGraph's thread where it is left out."
_PROJECT = "The project that is worked on: what belongs to another one stays out."
_APP = "The app through which the user speaks; noted with what is remembered."
_REVISION = "The revision of memory that the reply rests on; null where memory could not be read."
_HEADER = "What had changed in memory since this conversation last looked; empty where nothing had."


class Change(TypedDict, total=False):
    """A memory that a turn has added, changed or forgotten."""

    id: str
    action: str
    state: str
    category: str
    text: str
    rev: int
    importance: int
    band: str
    sim: float


class Request(TypedDict, total=False):
    """A value of the profile that waits for consent, and the question that asks for it."""

    id: str
    field: str
    value: str
    question: str


class Task(TypedDict):
    """A task that the supervisor gives to a subagent."""

    agent: str
    task: str
    call: NotRequired[str]  # the id of the call that hands it over


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
    """What a run is given: what the person says, and what tools of other agents have found."""

    messages: Annotated[list[AnyMessage], Field(description="The new messages."), add_messages]


class Output(TypedDict, total=False):
    """What a run returns, once its turn has ended."""

    messages: Annotated[list[AnyMessage], Field(description="The conversation, whose last message is the reply.")]
    reply: Annotated[str, Field(description="The text of the reply.")]
    revision: Annotated[int | None, Field(description=_REVISION)]
    header: Annotated[str, Field(description=_HEADER)]
    written: Annotated[list[Change], Field(description="What the turn has changed in memory.")]
    waiting: Annotated[list[Request], Field(description="Values of the profile that wait for the person's consent.")]


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
    relevance: Annotated[float, UntrackedValue]  # of the best of `bullets`, in [0, 1]; for the turn's own model only
    confidence: float  # that what a model was shown holds what is asked, in [0, 1]
    writes: list[dict[str, Any]]
    recalled: list[str]  # shingle hashes of what was searched for, in digits: a browser rounds numbers beyond 2^53
    asking: list[dict[str, str]]  # changes of the profile that need consent: id, field, value, question
    decided: str  # what became of an earlier question, one sentence
    was_asked: list[str]  # lasts: ids of the requests that the thread was asked about
    to_confirm: list[str]  # ids of the requests that the last reply asked about: the next message may answer
    to_settle: list[str]  # ids of the memories of which the last reply asked whether they replace others
    reports: list[Report]
    tool_messages: list[AnyMessage]  # the calls of tools and their results; recalled text, which the thread never has
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
    reply: Annotated[str, UntrackedValue]  # these four are for the output, and never saved
    revision: Annotated[int | None, UntrackedValue]
    written: Annotated[list[dict[str, Any]], UntrackedValue]
    waiting: Annotated[list[dict[str, str]], UntrackedValue]
    additions: list[dict[str, str]]  # what a chain has added to the prompt: source, text, placement
    is_aside: bool  # a chain has answered the message itself
    is_off: bool  # memory is neither read nor written in this turn
    shown: list[str]  # ids of the memories that `stable` and `bullets` quote
    left: str  # lasts: id of the first message that prompts keep, empty for all; a chain was told of those before
    told_at: str  # the time of that request, or of the thread's first turn, ISO


@dataclass(frozen=True, kw_only=True)
class Who:
    """The context of a run: its user. Without `tenant` it is the server's, without `thread` LangGraph's.

    The default user is refused where `users.required` wants a name."""

    user: Annotated[str, Field(description=_USER)] = DEFAULT_USER
    tenant: Annotated[str | None, Field(description=_TENANT)] = None
    thread: Annotated[str | None, Field(description=_THREAD)] = None
    project: Annotated[str | None, Field(description=_PROJECT)] = None
    app: Annotated[str | None, Field(description=_APP)] = None
    memory: Annotated[Literal["then", "now"], Field(description=_MEMORY)] = "then"
