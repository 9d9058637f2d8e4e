"""A memory: one self-contained statement with its kind, category, fact, trust and state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args
from uuid import UUID

from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.scope import Scope, normalize_key
from muniment.memory.errors import BadInput

Kind = Literal["semantic", "episodic", "procedural", "insight"]
FactKind = Literal[
    "identity", "preference", "relationship", "goal", "constraint", "experience", "skill", "event", "note",
    "decision", "discovery", "rule", "fix", "todo",
]  # fmt: skip
Reach = Literal["user", "project", "session"]
LEGACY_TAG = "legacy"  # of what was imported from a former design
Trust = Literal["user", "tool", "document", "agent"]
State = Literal["active", "pending", "superseded", "soft_deleted", "rejected"]
Role = Literal["user", "assistant", "tool", "system"]
ROLE_TRUST: dict[Role, Trust] = {"user": "user", "assistant": "agent", "tool": "tool", "system": "agent"}
TRUST_RANK: dict[Trust, int] = {"user": 3, "tool": 2, "document": 1, "agent": 0}


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
        return self.attribute if self.single else self.attribute + normalize_key(self.object)

    @property
    def attribute(self) -> str:
        """The start of the key: what the fact is about, whatever its value."""
        return "|".join(map(normalize_key, (self.kind, self.subject, self.predicate))) + "|"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMemory:
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
    rev: Revision = Revision(0)  # noqa: RUF009 - a NewType: the number itself
    superseded_by: MemoryId | None = None
    context: str | None = None  # the words around the statement: helps to find it, is never shown
    turns: tuple[TurnId, ...] = ()  # the turns that support it
    aliases: tuple[str, ...] = ()  # other names of what it is about: help to find it
    project_id: str | None = None
    app_id: str | None = None
    reach: Reach = "user"  # where it is found: everywhere, in its project alone, or in its session alone
    source: str | None = None  # name or address of what it comes from, shown with it
    expires_at: datetime | None = None  # from then on no answer has it

    @property
    def is_of_resource(self) -> bool:
        """Whether it is a statement of a document that was taken in: it stands as long as the document makes it, and
        becomes no part of another memory."""
        return self.trust == "document" and self.source is not None

    @property
    def place(self) -> str | None:
        """The place at which it is found, None for everywhere. Only memories of one place are merged."""
        return name_place(self.reach, self.project_id, self.session_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A memory near a candidate: cosine similarity in [-1, 1], 1.0 for an equal stable key."""

    memory: StoredMemory
    sim: float


def name_place(reach: Reach, project: str | None, session: str | None) -> str | None:
    """Return the name of the place that a reach means, None for everywhere. Raises BadInput for an unknown reach, and
    where nothing names the place."""
    if reach == "user":
        return None
    if reach not in REACHES:
        raise BadInput(f"reach: one of {', '.join(REACHES)} wanted")
    name = project if reach == "project" else session
    if name is None:
        raise BadInput(f"reach: {reach!r} given, and no {reach} is named")
    return f"{reach}:{name}"


def list_places(scope: Scope) -> list[str | None]:
    """Return the places whose memories are found in a scope: everywhere, its project and its session."""
    named = (("project", scope.project), ("session", scope.session))
    return [None, *(f"{reach}:{name}" for reach, name in named if name is not None)]


def compose_document(text: str, aliases: Sequence[str]) -> str:
    """Return what the vector of a memory is of: its text, and the other names of what it is about."""
    return f"{text} ({', '.join(aliases)})" if aliases else text


def find_replaced(memory: StoredMemory) -> MemoryId | None:
    """Return the id of the memory that a memory which waits for approval takes the place of; None for a new one."""
    ids = (tag.removeprefix(REPLACES) for tag in memory.tags if tag.startswith(REPLACES))
    return next((MemoryId(UUID(id_)) for id_ in ids), None)


def list_replaced(memory: StoredMemory) -> list[str]:
    """Return the ids of the memories that a memory perhaps replaces: it was not certain which of them."""
    return [tag.removeprefix(MAY_REPLACE) for tag in memory.tags if tag.startswith(MAY_REPLACE)]


NOTE = "said"  # the predicate of a note: what a person said of themselves, in their own words
# The predicates of what is kept in a person's own words and has a kind: a decision, a rule, a discovery, a fix, a task.
_WORDED = frozenset({NOTE, "decided", "keeps_rule", "found_out", "fixed_by", "must_do"})
_REQUESTED = "note"  # the predicate of a text that a person asked to remember, and in which the rules read no fact
REPLACES = "replaces "  # the start of a tag of a pending memory that takes the place of another one, whose id follows
MAY_REPLACE = "may replace "  # the start of a tag of a memory that perhaps replaces another one, whose id follows
KINDS: tuple[Kind, ...] = get_args(Kind)
FACT_KINDS: tuple[FactKind, ...] = get_args(FactKind)
STATES: tuple[State, ...] = get_args(State)
TRUSTS: tuple[Trust, ...] = get_args(Trust)
REACHES: tuple[Reach, ...] = get_args(Reach)


def is_note(fact: Fact | None) -> bool:
    """Whether a fact stands in a person's own words, so that it is compared by them."""
    return fact is not None and fact.predicate in _WORDED


def is_structured(fact: Fact | None) -> bool:
    """Whether a fact has a subject, a relation and a value; of two such facts these say whether one ends the other."""
    return fact is not None and not is_note(fact) and fact.predicate != _REQUESTED
