"""Write plans: everything that one write will do, and the receipt for what it did."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from muniment.memory.domain.consent import Consent, Proposal
from muniment.memory.domain.ids import MemoryId, Revision, TurnId, Vector
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.journal import Action, Band, Node
from muniment.memory.domain.memory import Memory
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Source, Turn

IndexPart = Literal["vectors", "words", "dropped"]


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
    expected_rev: Revision
    node: Node
    at: datetime
    changes: tuple[Change, ...] = ()
    relations: tuple[Relation, ...] = ()
    turns: tuple[Turn, ...] = ()  # consumed: a turn already consumed makes the whole plan a replay
    extracted: ExtractionRecord | None = (
        None  # the same look at the same turn a second time makes the plan a replay, too
    )
    proposals: tuple[Proposal, ...] = ()
    decisions: tuple[Consent, ...] = ()  # decided requests; one that is decided already is a `Conflict`
    jobs: tuple[Job, ...] = ()
    source_turns: tuple[TurnId, ...] = ()  # turns of the ledger: one that is gone by now makes the plan a `Conflict`
    conflicts_on_access: bool = False  # a memory that was retrieved since it was read makes the plan a `Conflict`


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedRow:
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
    unmatched_requests: tuple[str, ...] = ()
    consent_requests: tuple[Consent, ...] = ()  # requests for consent that this write made


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionRecord:
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
class SpaceDump:
    """A whole space, as rows of JSON values, in a fixed order."""

    rev: Revision
    rows: tuple[dict[str, Any], ...] = field(default=())
