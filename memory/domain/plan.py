"""Write plans, and the receipts of what a write has done."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from muniment.memory.domain.consent import Consent, Proposal
from muniment.memory.domain.ids import MemoryId, Revision, TurnId, Vector
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.journal import Action, Band, Node
from muniment.memory.domain.layers.host_items import HostItem
from muniment.memory.domain.layers.observation import NewObservation
from muniment.memory.domain.layers.projections import Projection
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Source, Turn
from muniment.memory.errors import BadInput, OnlySecret

IndexPart = Literal["vectors", "words", "dropped"]
SECRET_REASON = "a secret"  # noqa: S105 - the reason of a refusal: redaction leaves no statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One memory before and after. A change is one revision and one journal entry.

    Without a `vector` the memory keeps the one that it has; with NO_VECTOR it has none until a job makes it."""

    action: Action
    after: StoredMemory
    before: StoredMemory | None = None
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
    """Everything that one write does. It is made without I/O and committed in one transaction."""

    scope: Scope
    expected_rev: Revision
    node: Node
    at: datetime
    changes: tuple[Change, ...] = ()
    relations: tuple[Relation, ...] = ()
    turns: tuple[Turn, ...] = ()  # consumed; one that was consumed before makes the plan a replay
    extracted: ExtractionRecord | None = None  # a record of the same turn and source makes the plan a replay, too
    proposals: tuple[Proposal, ...] = ()
    # Decided requests, of which one that is decided already is a `Conflict`; a pending one waits again.
    decisions: tuple[Consent, ...] = ()
    jobs: tuple[Job, ...] = ()
    source_turns: tuple[TurnId, ...] = ()  # turns of the ledger: one that is gone by now makes the plan a `Conflict`
    observations: tuple[NewObservation, ...] = ()  # written with the first statement of the plan
    host_items: tuple[HostItem, ...] = ()  # where ids of hosts lead from then on; one that was forgotten ends the plan
    conflicts_on_access: bool = False  # a memory that was retrieved since it was read makes the plan a `Conflict`

    @property
    def does_more(self) -> bool:
        """Whether the plan does more than to change memories and to consume turns."""
        return bool(
            self.extracted
            or self.jobs
            or self.proposals
            or self.decisions
            or self.source_turns
            or self.host_items
            or self.conflicts_on_access
            or self.scope.request
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedRow:
    """A new memory and the turns that it consumes, encoded by a store for itself, and what it says in its slots."""

    memory: bytes
    turns: dict[TurnId, bytes]
    slots: tuple[Projection, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a write did. `skipped` is the gate's reason; `refused` has a reason for each candidate that failed
    validation.

    `left_out` names what was redacted, or cut off a statement. `unmatched_requests` has a sentence for each request to
    forget that matched no memory. `degraded`: the embedder was away; what was kept is found by its words, until a job
    makes its vectors and merges it with what is like it."""

    rev: Revision
    changes: tuple[Change, ...] = ()
    replayed: bool = False
    skipped: str | None = None
    repaired: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    unmatched_requests: tuple[str, ...] = ()
    consent_requests: tuple[Consent, ...] = ()  # requests for consent that this write made
    degraded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReceipt:
    """The receipt of a request that its caller may send again. It is whole when the call has returned it.

    Of the digest of what was asked nothing is left after an erasure, and of the receipt its revision."""

    receipt: Receipt
    digest: bytes
    attempt: UUID
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did: the changes of memories, and the numbers of the rows, from 1, by what became of them.

    `merged` rows only changed memories that there were already, of rows before them, too. `unused` rows changed
    nothing: memory knows already what they say, or something later about it. Every other row is a new memory, or
    several."""

    changes: int = 0
    added: int = 0  # new memories
    merged: tuple[int, ...] = ()
    unused: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionRecord:
    """The record of an extraction from a turn. A turn has at most one by the rules and one by a model."""

    turn: TurnId
    source: Source
    found: int = 0
    repaired: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    prompt: str | None = None  # version
    model: str | None = None
    since: Revision | None = None  # that was read: an erasure after it makes the plan a `Conflict`
    shown: tuple[MemoryId, ...] = ()  # memories that were read: so does one that is gone


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceDump:
    """A whole space as rows of JSON values, in a fixed order."""

    rev: Revision
    rows: tuple[dict[str, Any], ...] = field(default=())

    def read_rows(self, types: Collection[str] | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows in their order, or those of some types."""
        return (row for row in self.rows if types is None or row["type"] in types)


def make_secret_error(kinds: Sequence[str] = ()) -> OnlySecret:
    """Return the error of a text that only its secret keeps out; `kinds` says in words what was taken
    out of it, such as "an API key"."""
    return OnlySecret(
        f"nothing of it was kept: it has {' and '.join(kinds) or SECRET_REASON}, which is not kept. "
        "Say it without the secret.",
        reasons=[SECRET_REASON],
    )


def raise_refusal(receipt: Receipt) -> Receipt:
    """Return a receipt; raise BadInput for one that has reasons of refusal and no change, OnlySecret where a secret is
    the only reason."""
    if receipt.refused and not receipt.changes:
        reasons = tuple(dict.fromkeys(receipt.refused))
        if reasons == (SECRET_REASON,):
            raise make_secret_error()
        raise BadInput(f"cannot be kept: {'; '.join(reasons)}", reasons=list(reasons))
    return receipt
