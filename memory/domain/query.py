"""Questions to the memory and their answers: filters, hits, omissions, briefs, pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.memory import Memory

Returns = Literal["bullets", "full"]
Reason = Literal["below threshold", "over budget", "near-duplicate", "beyond top_k", "category full"]
Ruling = Literal[
    Reason, "other space or unknown", "not yet known", "not allowed", "soft-deleted", "superseded", "pending", "rejected",
    "filtered", "no match", "beyond candidates", "in the answer",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Narrowing of a query, applied in SQL. None means no narrowing."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One request to `memory.query`. The agent and the scope are bound by the caller, not by a model."""

    text: str
    categories: tuple[str, ...] = ()
    filters: Filters = Filters()
    top_k: int = 8
    returns: Returns = "bullets"
    budget_tokens: int = 512
    threshold: float | None = None
    explain: bool = False
    as_of: Revision | datetime | None = None  # answer as it would have been then


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A found memory with its score and what the score is made of."""

    memory: Memory
    score: float  # by which hits are ordered: the sum of its parts
    parts: dict[str, float]
    channels: tuple[str, ...]
    related_to: MemoryId | None = None  # the hit that it was brought along by: on its own it was not relevant enough
    ranks: dict[str, int] = field(default_factory=dict)
    words: tuple[str, ...] = ()  # of the query, that it has; only when asked to explain
    relevance: float = 0.0  # how far it answers the query by meaning and words alone, [0, 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """A memory that was looked at and left out, with the reason."""

    id: MemoryId
    reason: Reason
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What `memory.query` returns: hits in order, the revision read, tokens of the rendered payload."""

    hits: tuple[Hit, ...]
    rev: Revision
    tokens: int
    returns: Returns = "bullets"
    omissions: tuple[Omission, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What the context node puts before a model: a stable part and a moving part."""

    rev: Revision
    stable: str
    header: str
    bullets: tuple[str, ...]
    moving: str  # header and fenced bullets as one block; empty when there is nothing to say


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a memory is not in an answer: the first reason that decides, or that it is in it. `said` is one sentence."""

    id: MemoryId
    reason: Ruling
    rev: Revision  # that was read
    sentence: str
    facts: dict[str, Any] = field(default_factory=dict)  # what the reason rests on
    memory: Memory | None = None  # where the agent may read it
    hit: Hit | None = None  # where the search came so far as to judge it


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRequest:
    """Which memories to list, newest change first; applied in SQL. None, and nothing named, is no narrowing."""

    categories: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    trusts: tuple[str, ...] = ()
    states: tuple[str, ...] = ("active",)
    pinned: bool | None = None
    tag: str | None = None
    since: datetime | None = None  # changed then or later
    until: datetime | None = None  # changed then or earlier
    contains: str | None = None  # in the text, whatever the case
    beginning: str | None = None  # of the id
    limit: int = 100
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPage:
    """Some of the memories that were asked for, how many there are in all, and the revision that was read."""

    memories: tuple[Memory, ...]
    total: int
    rev: Revision
