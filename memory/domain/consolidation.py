"""Consolidation runs: pairs, findings, records of runs, and what undoing a run takes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from muniment.memory.domain.ids import MemoryId, Revision, RunId
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Change
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Source
from muniment.memory.domain.usage import Charge

_FIRST_REVISION = Revision(0)
Judgement = Literal["same", "supersedes", "different"]
PairClass = Literal[
    "duplicate",
    "refinement",
    "changed_value",
    "contradiction",
    "other_time",
    "other_owner",
    "unrelated",
]
RunStatus = Literal["running", "waiting", "done", "over_budget", "failed", "interrupted", "cancelled", "undone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two active memories of one kind that may say the same.

    `sim` is the cosine of their vectors in [-1, 1], or of their words where the embedder does not know the script."""

    older: StoredMemory
    newer: StoredMemory  # the one that was said later
    sim: float
    checked: bool = False  # within `consolidation.fingerprint_days`, at this distance
    tries: int = 0  # days on which a model was asked and gave no answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The judgement on a pair, and whether a model or the rules made it; None where the model gave no answer."""

    pair: Pair
    judgement: Judgement | None
    source: Source
    sure: bool = True  # if not, the pair is checked again once there is a model
    pair_class: PairClass | None = None  # what one is to the other; None without a judgement


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The pairs of a space that may say the same: those to be checked first, then the closest."""

    pairs: tuple[Pair, ...] = ()
    upto: Revision = _FIRST_REVISION  # changes up to this revision were compared


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryGraph:
    """Memories as they are at one revision, whatever their state, the strengths of their edges by (lower, higher) id,
    and when each was said last by the store's clock."""

    rev: Revision
    memories: dict[MemoryId, StoredMemory] = field(default_factory=dict)
    edges: dict[tuple[MemoryId, MemoryId], float] = field(default_factory=dict)
    said: dict[MemoryId, datetime] = field(default_factory=dict)  # without those whose turns are unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoResult:
    """The result of undoing a run: numbers of memories restored, and of those left because they changed since."""

    run: Run
    restored: int
    left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The record of one consolidation of one space. Numbers of pairs, tokens, and millionths of the currency.

    `seen` pairs were in the survey. Of the `checked` pairs some are `same`, `superseded` or `distinct`; `outdated` ones
    changed before the answer came; `unanswered` ones got no answer, and the `shelved` of these are not asked again.
    `duplicates_…` are pairs that the rules alone call the same. `classes` has the decided pairs by what one is to the
    other, also where a protected memory stays all the same."""

    id: RunId
    scope: Scope
    status: RunStatus
    started_at: datetime
    from_rev: Revision
    to_rev: Revision | None = None
    ended_at: datetime | None = None
    leased_until: datetime | None = field(default=None, compare=False)  # set by the database, not by the run
    model: str | None = None
    prompt: str | None = None
    seen: int = 0
    checked: int = 0
    same: int = 0
    superseded: int = 0
    distinct: int = 0
    outdated: int = 0
    unanswered: int = 0
    shelved: int = 0
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    micros: int = 0
    duplicates_before: int | None = None
    duplicates_after: int | None = None
    classes: Mapping[PairClass, int] = field(default_factory=dict)
    batch: str | None = None  # the endpoint's name of the batch that is waited for, or not removed yet
    handed: datetime | None = None  # when the batch was handed over
    asked: tuple[BatchedPair, ...] = ()
    reason: str | None = None  # of a failure: the class of the error, never its message
    dry: bool = False  # nothing is written, not even this record
    limit: int | None = None  # pairs to check, in place of the rest of the day; not stored
    surveyed: Revision = _FIRST_REVISION  # changes up to it were compared and checked, by this run or an earlier one
    upto: Revision = _FIRST_REVISION  # `surveyed` when all pairs of the survey are checked


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceResult:
    """One space of many: its run, or why there is none.

    `busy`: another process consolidates it; `waiting`: its last run waits for a batch endpoint; `unchanged`: nothing
    changed since its last run."""

    scope: Scope
    run: Run | None = None
    skipped: Literal["unchanged", "busy", "waiting"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchedPair:
    """A pair in a prompt of a batch: the prompt's id, the place in it, and the memories with their revisions."""

    request: str
    place: int
    older: MemoryId
    newer: MemoryId
    revs: tuple[Revision, Revision]
    sim: float
    tries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChange:
    """A memory that a run changed: before the run and now, with the `meta` and the `rev` of the journal entries."""

    before: StoredMemory
    now: StoredMemory
    journal_metas: tuple[dict[str, Any], ...]
    is_untouched: bool  # not changed since, and no other memory has its stable key


@dataclass(frozen=True, slots=True, kw_only=True)
class GainedEdge:
    """An edge that a memory got from another in a run: its strength now, and before; None where there was none."""

    low: MemoryId
    high: MemoryId
    now: float
    before: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessTransfer:
    """The accesses of other memories that a memory got in a run: their number, and the last access after and before."""

    id: MemoryId
    count: int
    at: datetime | None
    before: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoPlan:
    """The changes that undo a run. Memories of one of `separated_groups` are not merged again."""

    changes: tuple[Change, ...]
    edges: tuple[GainedEdge, ...]
    access_transfers: tuple[AccessTransfer, ...]
    separated_groups: tuple[frozenset[MemoryId], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDraft:
    """A run with one more prompt in its batch, and the most that this prompt may cost."""

    charge: Charge
    run: Run
