"""Queries and their answers: filters, hits, omissions, briefs, pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.scope import OwnerType
from muniment.memory.errors import BadInput

Returns = Literal["bullets", "full"]
LISTINGS = ("", "*")  # texts of a query that asks for what is newest
StageName = Literal["scope", "access", "meaning", "words", "structure", "rank", "pack"]
Reason = Literal[
    "below threshold", "far below the best", "no more alike than the rest", "over budget", "near-duplicate",
    "beyond top_k", "category full",  # the last one in a context only
]  # fmt: skip
Ruling = Literal[
    Reason, "other space or unknown", "not yet known", "not allowed", "soft-deleted", "superseded", "pending",
    "expired", "out of reach", "rejected", "filtered", "no match", "beyond candidates", "in the answer",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Filters of a query, applied in SQL. None filters nothing."""

    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None
    actor_id: str | None = None
    role: str | None = None
    category: str | None = None
    pinned: bool | None = None
    importance_min: int | None = None
    importance_max: int | None = None
    updated_after: datetime | None = None
    updated_before: datetime | None = None
    session_id: str | None = None
    project_id: str | None = None
    app_id: str | None = None
    reach: str | None = None
    source: str | None = None
    event_after: datetime | None = None
    event_before: datetime | None = None
    fact_kind: str | None = None  # this and what follows: of the fact, whatever the case
    predicate: str | None = None
    person: str | None = None
    entity: str | None = None
    location: str | None = None
    topic: str | None = None
    # What follows is of the engine, never of a request.
    without_tags: tuple[str, ...] | None = None  # what has one of these is left out; of the settings
    said_in: str | None = None  # a session, of which a turn supports the memory
    from_documents: bool | None = None  # true: what was taken in from a document
    said_in_or_documents: str | None = None  # either of the two, with the session


INTERNAL_FILTERS = frozenset({"without_tags", "said_in", "from_documents", "said_in_or_documents"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One request to `memory.query`. The agent and the scope are bound by the caller, not by a model.

    An empty text and `*` ask for what is newest."""

    text: str
    categories: tuple[str, ...] = ()
    filters: Filters = Filters()
    top_k: int = 8
    returns: Returns = "bullets"
    budget_tokens: int = 512
    threshold: float | None = None
    explain: bool = False
    profile: str | None = None  # of `recall.profiles`, in the place of the agent's
    as_of: Revision | datetime | None = None  # the answer at that revision or time

    def require_question(self) -> None:
        """Raise BadInput for a query that asks for what is newest."""
        if self.text.strip() in LISTINGS:
            raise BadInput("query: is empty or *, which asks for what is newest; a question is wanted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory that answers a query, with its score and the parts of the score."""

    memory: StoredMemory
    score: float  # the sum of `parts`; hits are ordered by it
    parts: dict[str, float]
    channels: tuple[str, ...]
    related_to: MemoryId | None = None  # the hit with an edge to it, without which it would not be relevant enough
    ranks: dict[str, int] = field(default_factory=dict)
    words: tuple[str, ...] = ()  # of the query, that the memory has; only with `explain`
    rivals: tuple[MemoryId, ...] = ()  # memories of the space whose ids have the same first eight digits
    relevance: float = 0.0  # by meaning and words alone, in [0, 1]
    shared_by: OwnerType | None = None  # whose shared space it is of; None: it is of who asks


@dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """A candidate that was left out of an answer, with the reason."""

    id: MemoryId
    reason: Reason
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A stage of a read, with its time and what it counted."""

    name: StageName
    milliseconds: float
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer of `memory.query`: hits in order, the revision, and the tokens of the rendered payload.

    `degraded`: the embedder was away, so that memories were found by words and structure alone."""

    hits: tuple[Hit, ...]
    rev: Revision
    tokens: int
    returns: Returns = "bullets"
    omissions: tuple[Omission, ...] = ()
    degraded: bool = False
    stages: tuple[Stage, ...] = field(default=(), compare=False)  # only with `explain`


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What goes before a model: a part that seldom changes, and a part for this message."""

    rev: Revision
    stable: str
    stable_keys: tuple[str, ...]  # for each of its lines the field of the profile or the id of the memory
    header: str
    bullets: tuple[str, ...]
    turns: tuple[frozenset[TurnId], ...]  # for each bullet those that say it
    moving: str  # header and fenced bullets as one block; empty when there is nothing to say
    degraded: bool = False  # as of an Answer
    relevance: float = 0.0  # of the best bullet to the message, in [0, 1]
    bullet_keys: tuple[str, ...] = ()  # for each bullet the id of its memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The first reason why a memory is not in an answer, or that it is in it, with one sentence for a reader."""

    id: MemoryId
    reason: Ruling
    rev: Revision  # that was read
    sentence: str
    facts: dict[str, Any] = field(default_factory=dict)  # what the reason rests on
    memory: StoredMemory | None = None  # where the agent may read it
    hit: Hit | None = None  # where the search has scored it


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRequest:
    """Which memories to list, applied in SQL. None and an empty tuple filter nothing."""

    categories: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    fact_kinds: tuple[str, ...] = ()  # then a memory without a fact is left out
    trusts: tuple[str, ...] = ()
    states: tuple[str, ...] = ("active",)
    pinned: bool | None = None
    tag: str | None = None
    since: datetime | None = None  # changed then or later
    until: datetime | None = None  # changed then or earlier
    contains: str | None = None  # in the text, whatever the case
    beginning: str | None = None  # of the id, in hexadecimal digits
    source: str | None = None
    session_id: str | None = None  # in which it was said
    agent_id: str | None = None
    after: tuple[Revision, MemoryId] | None = None  # the last memory of the page before, by its revision and its id
    everywhere: bool = False  # also what is not found where the scope is, and what has expired
    limit: int = 100
    offset: int = 0
    counted: bool = True  # whether all that match are counted; otherwise the total is that of the page and those before


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPage:
    """A page of memories, the number of all that match, and the revision."""

    memories: tuple[StoredMemory, ...]
    total: int
    rev: Revision
