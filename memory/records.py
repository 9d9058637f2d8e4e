"""The values of Muniment: frozen records, closed vocabularies, computed ids."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, NewType, TypeAlias
from uuid import NAMESPACE_URL, UUID, uuid5

import numpy as np
import numpy.typing as npt

from muniment.memory.errors import BadInput

SpaceId = NewType("SpaceId", UUID)
MemoryId = NewType("MemoryId", UUID)
TurnId = NewType("TurnId", UUID)
Revision = NewType("Revision", int)
Vector: TypeAlias = npt.NDArray[np.float32]

Kind = Literal["semantic", "episodic", "procedural", "insight"]
FactKind = Literal[
    "identity", "preference", "relationship", "goal", "constraint", "experience", "skill", "event", "note"
]
Trust = Literal["user", "tool", "document", "agent"]
State = Literal["active", "pending", "superseded", "soft_deleted", "rejected"]
Action = Literal["ADD", "UPDATE", "DELETE", "MERGE", "LINK", "TTL", "RESTORE"]
Event = Literal["created", "updated", "merged", "deleted", "soft_deleted", "restored"]
Band = Literal["auto", "check", "fallback", "new"]
OwnerType = Literal["user", "agent", "project"]
Role = Literal["user", "assistant", "tool", "system"]
Returns = Literal["bullets", "full"]
Reason = Literal["below threshold", "over budget", "near-duplicate", "beyond top_k", "category full"]
Ruling = Literal[
    Reason, "other space or unknown", "not yet known", "not allowed", "soft-deleted", "superseded", "pending", "rejected",
    "filtered", "no match", "beyond candidates", "in the answer",
]  # fmt: skip
Node = Literal["hotpath", "context", "episodic", "worker", "face"]

ROLE_TRUST: dict[Role, Trust] = {"user": "user", "assistant": "agent", "tool": "tool", "system": "agent"}
TRUST_RANK: dict[Trust, int] = {"user": 3, "tool": 2, "document": 1, "agent": 0}
_UNSOUND = re.compile("[\x00\ud800-\udfff]")
_SPACES = uuid5(NAMESPACE_URL, "muniment:space")


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


@lru_cache(maxsize=4_096)
def _tenancy(tenant: str) -> SpaceId:
    return SpaceId(uuid5(_SPACES, tenant))


@lru_cache(maxsize=4_096)
def _space(tenant: str, owner_type: str, owner: str) -> SpaceId:
    return SpaceId(uuid5(_tenancy(tenant), f"{owner_type}:{owner}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Who is asking. Made by the server, never from a model's arguments."""

    owner: str
    tenant: str = "default"
    owner_type: OwnerType = "user"
    agent: str | None = None
    session: str | None = None
    thread: str | None = None
    run: str | None = None
    actor: str | None = None
    project: str | None = None

    def __post_init__(self) -> None:
        named = (self.agent, self.session, self.thread, self.run, self.actor, self.project)
        # Without `filter` for these two: who has no name is not the user "None".
        for name in (self.owner, self.tenant, *filter(None, named)):
            if _UNSOUND.search(name):
                raise BadInput("a name has a NUL or half a character (a lone surrogate)")

    @property
    def space(self) -> SpaceId:
        """The space of this owner: `uuid5(tenant, owner)`, computed, never looked up."""
        return _space(self.tenant, self.owner_type, self.owner)

    @property
    def tenancy(self) -> SpaceId:
        """Where the tenant's own books are kept, such as what it spends."""
        return _tenancy(self.tenant)

    @property
    def whose(self) -> Scope:
        """The scope without what differs from turn to turn."""
        return _whose(self.tenant, self.owner, self.owner_type)


@lru_cache(maxsize=4_096)
def _whose(tenant: str, owner: str, owner_type: OwnerType) -> Scope:
    return Scope(tenant=tenant, owner=owner, owner_type=owner_type)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """The structured side of a semantic memory."""

    kind: FactKind
    predicate: str
    object: str
    subject: str = "user"
    persons: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    location: str | None = None
    topic: str | None = None
    single: bool = False  # one value at a time: a new object replaces the old one
    negated: bool = False

    @property
    def key(self) -> str:
        """The stable key: what the fact is about, and its value unless it can only have one."""
        return self.attribute if self.single else self.attribute + _plain(self.object)

    @property
    def attribute(self) -> str:
        """The start of the key: what the fact is about, whatever its value."""
        return "|".join(map(_plain, (self.kind, self.subject, self.predicate))) + "|"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One self-contained statement, with where it comes from and what became of it."""

    id: MemoryId
    kind: Kind
    category: str
    text: str
    created_at: datetime
    updated_at: datetime
    fact: Fact | None = None
    stable_key: str | None = None
    importance: int = 2
    confidence: float = 1.0
    trust: Trust = "user"
    pinned: bool = False
    state: State = "active"
    tags: tuple[str, ...] = ()
    agent_id: str | None = None
    run_id: str | None = None
    actor_id: str | None = None
    role: Role | None = None
    session_id: str | None = None
    thread_id: str | None = None
    event_time: datetime | None = None
    last_accessed_at: datetime | None = None
    access_count: int = 0
    purge_at: datetime | None = None
    rev: Revision = Revision(0)
    superseded_by: MemoryId | None = None
    context: str | None = None  # the words around the statement: helps to find it, is never shown
    turns: tuple[TurnId, ...] = ()  # the turns that support it


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What was said or done once, word for word after redaction."""

    id: TurnId
    role: Role
    text: str
    at: datetime
    session: str | None = None
    thread: str | None = None
    actor: str | None = None
    source: Trust = "user"  # who vouches for what it says
    path: str | None = None  # of the file or page it was read from
    tags: tuple[str, ...] = ()
    recalled: tuple[int, ...] = ()  # fingerprints of what memory had put before the model when it was said

    @classmethod
    def make(
        cls,
        *,
        session: str,
        key: str,
        role: Role,
        text: str,
        at: datetime,
        thread: str | None = None,
        actor: str | None = None,
        source: Trust | None = None,
        path: str | None = None,
        tags: tuple[str, ...] = (),
        recalled: tuple[int, ...] = (),
    ) -> Turn:
        """A turn whose id is `session + key + hash(text)`: the same turn twice has the same id.

        Its source is that of its role, unless another is named."""
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        return cls(
            id=TurnId(uuid5(_SPACES, f"{session}\x1f{key}\x1f{role}\x1f{digest}")),
            role=role,
            text=text,
            at=at,
            session=session,
            thread=thread,
            actor=actor,
            source=source or ROLE_TRUST[role],
            path=path,
            tags=tags,
            recalled=recalled,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A statement found in a turn, before it meets what is already known."""

    text: str
    category: str
    kind: Kind = "semantic"
    fact: Fact | None = None
    importance: int = 2
    confidence: float = 0.9
    trust: Trust = "user"
    pinned: bool = False
    tags: tuple[str, ...] = ()
    event_time: datetime | None = None
    context: str | None = None
    turns: tuple[TurnId, ...] = ()
    actor: str | None = None
    role: Role | None = "user"
    state: Literal["active", "pending"] = "active"  # pending: kept, but out of every answer until a person approves


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a person wants forgotten: by the words of a memory, or by an attribute without its value."""

    said: str
    words: str
    told: str = ""  # in the third person, where it is about the one who says it
    facts: tuple[Fact, ...] = ()  # that it states
    keys: tuple[str, ...] = ()  # starts of the stable keys of the attribute that it names
    word: str = ""  # which one of several of a kind: the dog among the pets
    alone: bool = False  # it names one: where there are several, none is meant for sure
    vain: bool = False  # nothing is forgotten by it, whatever there is
    everything: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What the words of a turn hold: statements to keep, and what the person wants forgotten."""

    candidates: tuple[Candidate, ...] = ()
    forget: tuple[Wish, ...] = ()
    asked: frozenset[str] = frozenset()  # the texts of those that the person asked to remember


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A memory near a candidate: cosine similarity in [-1, 1], 1.0 for an equal stable key."""

    memory: Memory
    sim: float


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
class Reader:
    """A scope that reads, with the categories that its agent may see (also set for row-level security)."""

    scope: Scope
    allowed: frozenset[str]


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
    left_out: tuple[Omission, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One line of the journal, with the text it concerns as the reader may see it."""

    rev: Revision
    memory_id: MemoryId
    action: Action
    ts: datetime
    category: str
    text: str
    importance: int = 2
    pinned: bool = False
    old_ref: str | None = None
    new_ref: str | None = None
    thread_id: str | None = None
    node: str | None = None
    actor: str | None = None
    band: str | None = None
    sim: float | None = None
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """The changes a thread has not seen: journal lines in (since, rev], oldest first."""

    since: Revision
    rev: Revision
    entries: tuple[JournalEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What the context node puts before a model: a stable part and a moving part."""

    rev: Revision
    stable: str
    header: str
    bullets: tuple[str, ...]
    moving: str  # header and fenced bullets as one block; empty when there is nothing to say


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Why a memory is not in an answer: the first reason that decides, or that it is in it. `said` is one sentence."""

    id: MemoryId
    reason: Ruling
    rev: Revision  # that was read
    said: str
    facts: dict[str, Any] = field(default_factory=dict)  # what the reason rests on
    memory: Memory | None = None  # where the agent may read it
    hit: Hit | None = None  # where the search came so far as to judge it


evolve = replace
