"""What a write will do and what it did: plans, receipts, jobs for later, requests for consent, and the books kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal, NewType
from uuid import UUID

from muniment.memory.records import (
    Action,
    Band,
    JournalEntry,
    Memory,
    MemoryId,
    Node,
    Revision,
    Scope,
    Trust,
    Turn,
    TurnId,
    Vector,
)

Op = Literal["classify", "search", "create", "update", "merge", "delete", "link", "ttl"]
Status = Literal["ok", "error", "skipped"]

RequestId = NewType("RequestId", UUID)
JobName = Literal["extract", "reflect", "expire", "index", "round", "tend", "collect", "learn_path"]
Part = Literal["vectors", "words", "dropped"]
Source = Literal["rules", "model"]
Purpose = Literal["reply", "extract", "insight", "consolidate", "path"]
Field = Literal["preferred_name", "pronouns", "city", "language", "tone", "goals"]
Decision = Literal["pending", "approved", "rejected", "expired", "replaced", "withdrawn"]
UNFORMAL = ("more than ", "recalled", "contradicts ")  # how the reasons begin that say nothing of a statement's form
SENSITIVE: frozenset[Field] = frozenset({"preferred_name", "pronouns", "city", "language"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One memory before and after. One change is one revision and one line of the journal."""

    action: Action
    after: Memory
    before: Memory | None = None
    vector: Vector | None = field(default=None, repr=False)
    band: Band | None = None
    sim: float | None = None
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """An undirected edge between two memories, strength in [0, 1]."""

    a: MemoryId
    b: MemoryId
    strength: float
    relation_type: str = "related_to"


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePlan:
    """Everything one write will do. Made without I/O, committed in one transaction."""

    scope: Scope
    expects: Revision
    node: Node
    at: datetime
    changes: tuple[Change, ...] = ()
    relations: tuple[Relation, ...] = ()
    turns: tuple[Turn, ...] = ()  # consumed: a turn already consumed makes the whole plan a replay
    extracted: Extracted | None = None  # the same look at the same turn a second time makes the plan a replay, too
    proposals: tuple[Proposal, ...] = ()
    decisions: tuple[Consent, ...] = ()  # decided requests; one that is decided already is a `Conflict`
    jobs: tuple[Job, ...] = ()
    rests_on: tuple[TurnId, ...] = ()  # turns of the ledger: one that is gone by now makes the plan a `Conflict`
    unread: bool = False  # a memory that was retrieved since it was read makes the plan a `Conflict`


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """A new memory and the turns that it consumes, packed as the store will send them; good for one store only."""

    memory: bytes
    turns: dict[TurnId, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a write did. `skipped` is the gate's reason; `refused` counts candidates that failed validation; `unmet` has a
    sentence for each wish to forget that no memory was matched to."""

    rev: Revision
    changes: tuple[Change, ...] = ()
    replayed: bool = False
    skipped: str | None = None
    repaired: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()
    asked: tuple[Consent, ...] = ()  # requests for consent that this write made


@dataclass(frozen=True, slots=True, kw_only=True)
class OpsEvent:
    """One line of operational tracking: a search, a skip or a failure. Mutations are in the journal."""

    node: Node
    op: Op
    status: Status
    ts: datetime
    thread_id: str | None = None
    memory_id: MemoryId | None = None
    category: str | None = None
    sim: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Work for later, kept in the database until it is done. At most one with the same name and key waits in a space."""

    name: JobName
    scope: Scope
    key: str = ""
    at: datetime | None = None  # not before


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one attempt at a job: done; again at a time, not failed if what it waits for is not there yet; or, failed
    and not again, without an object any more."""

    job: Job
    seconds: float
    failed: str | None = None  # the class of the error, never its message
    again: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexing:
    """What became of the indexes of a space with so many active memories: whether it has them now, and what was done."""

    memories: int
    indexed: bool
    made: tuple[Part, ...] = ()
    full: bool = False  # it has none because too many spaces have


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What one look at a turn came to. A turn is looked at once by the rules and once by the model."""

    turn: TurnId
    source: Source
    found: int = 0
    repaired: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    prompt: str | None = None  # version
    model: str | None = None
    since: Revision | None = None  # that was looked at: what is erased after it makes the plan a `Conflict`
    shown: tuple[MemoryId, ...] = ()  # memories that were looked at: so does one that is not there any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A value for a field of the structured profile, and the memory and the turns that it comes from."""

    field: Field
    value: str
    memory: MemoryId
    turns: tuple[TurnId, ...]
    expires_at: datetime
    trust: Trust = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """A request to change the structured profile, and what became of it. An approved one is the field's value."""

    id: RequestId
    field: Field
    value: str
    decision: Decision
    memory: MemoryId
    asked_at: datetime
    expires_at: datetime
    turns: tuple[TurnId, ...] = ()  # each is a signal
    decided_at: datetime | None = None
    decided_by: str | None = None
    old: str | None = None  # the field's value when it was asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What one request to a model costs, or may cost: tokens, and money in millionths of the configured currency."""

    purpose: Purpose
    model: str
    input_tokens: int
    output_tokens: int
    micros: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What becomes of a charge: the reserved one is replaced by what was used, or given back where `used` is None."""

    day: date
    reserved: Charge | None = None
    used: Charge | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a tenant spent on one purpose and model in a day (UTC)."""

    day: date
    purpose: str
    model: str
    requests: int
    input_tokens: int
    output_tokens: int
    micros: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How often a node did something with a status on a day (UTC)."""

    day: date
    node: str
    op: str
    status: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Yield:
    """What the looks of one source at turns came to; the reasons with how often each was one."""

    source: Source
    looks: int
    found: int
    written: int
    repaired: dict[str, int]
    refused: dict[str, int]

    @property
    def first_pass(self) -> float | None:
        """The share of what was found that kept the format at once (S-83): neither repaired nor refused for its form."""
        if not self.found:
            return None
        refused = sum(count for reason, count in self.refused.items() if not reason.startswith(UNFORMAL))
        return max(0.0, 1 - (sum(self.repaired.values()) + refused) / self.found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What a space did since a day (UTC), and its latest changes, newest first."""

    since: date
    counts: tuple[Count, ...]
    extracted: tuple[Yield, ...]
    changes: tuple[JournalEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Books:
    """A tenant's books since a day (UTC). Tokens and micros of a day may be more than its lines: requests under way, and
    those whose worker died, are charged and in no line yet."""

    since: date
    lines: tuple[Spent, ...]
    days: dict[date, tuple[int, int]]  # day -> tokens and micros charged
    facts: int  # that the model's extraction has written
