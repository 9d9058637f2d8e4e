"""Consolidation runs: pairs, findings, records of runs, and what undoing a run takes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from muniment.memory.domain.ids import MemoryId, Revision, RunId
from muniment.memory.domain.memory import Memory
from muniment.memory.domain.plan import Change
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Source
from muniment.memory.domain.usage import Charge

_FIRST_REVISION = Revision(0)
Judgement = Literal["same", "supersedes", "different"]
RunStatus = Literal["running", "waiting", "done", "over_budget", "failed", "interrupted", "cancelled", "undone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two active memories of one kind that may say the same: `sim` is the cosine of their vectors in [-1, 1], or of their
    words where the embedder does not know the script."""

    older: Memory
    newer: Memory  # the later to be said, see `rules.consolidate.ordered`
    sim: float
    checked: bool = False  # within `consolidation.fingerprint_days`, at this distance
    tries: int = 0  # on how many days a model was asked in vain


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a look at a pair came to, and who looked; None where a model was asked and gave no answer."""

    pair: Pair
    judgement: Judgement | None
    source: Source
    sure: bool = True  # if not, the pair counts as looked at only as long as there is no model to ask


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The pairs of a space that may say the same, those yet to be checked first, then the closest."""

    pairs: tuple[Pair, ...] = ()
    upto: Revision = _FIRST_REVISION  # what changed up to there was compared


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryGraph:
    """Memories as they are at one revision, whatever their state, and the strengths of their edges by (lower, higher) id."""

    rev: Revision
    memories: dict[MemoryId, Memory] = field(default_factory=dict)
    edges: dict[tuple[MemoryId, MemoryId], float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoResult:
    """What the undoing of a run came to: memories that are as they were, and those left because they changed since."""

    run: Run
    restored: int
    left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The record of one consolidation of one space. Numbers of pairs, tokens, and millionths of the currency.

    `seen` pairs were in the survey; of those `checked`, so many were found `same`, `superseded` or `distinct`; `outdated`
    changed before the answer was there, `unanswered` got none; of these `shelved` were asked so often that they count as looked
    at. `duplicates_…`: pairs that the rules alone call the same."""

    id: RunId
    scope: Scope
    status: RunStatus
    started_at: datetime
    from_rev: Revision
    to_rev: Revision | None = None
    ended_at: datetime | None = None
    leased_until: datetime | None = field(default=None, compare=False)  # by the database; unknown to the run itself
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
    batch: str | None = None  # the endpoint's name of what is being waited for, or not yet removed there
    handed: datetime | None = None  # when it was to be handed over
    asked: tuple[BatchedPair, ...] = ()
    reason: str | None = None  # of a status that is not the usual: a class of error, never its message
    dry: bool = False  # nothing of it was written, this record neither
    limit: int | None = None  # pairs to check, in place of what the day has left; not kept
    surveyed: Revision = (
        _FIRST_REVISION  # what changed up to there is compared and checked, by this run or an earlier one
    )
    upto: Revision = _FIRST_REVISION  # where `surveyed` will be when all pairs of the survey are checked


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceResult:
    """One space of many: its run, or why there is none. `busy`: somebody else is at work there; `waiting`: its last run waits
    for a batch endpoint; `unchanged`: what there is was compared."""

    scope: Scope
    run: Run | None = None
    skipped: Literal["unchanged", "busy", "waiting"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchedPair:
    """A pair in a prompt that is with a batch endpoint: which prompt, which place in it, and what was shown."""

    request: str
    place: int
    older: MemoryId
    newer: MemoryId
    revs: tuple[Revision, Revision]
    sim: float
    tries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChange:
    """What a run changed of one memory: as it was before and as it is now, with the `meta` of the journal's lines and their `rev`."""

    before: Memory
    now: Memory
    journal_metas: tuple[dict[str, Any], ...]
    is_untouched: bool  # nobody else has changed it since, and no other memory has its stable key by now


@dataclass(frozen=True, slots=True, kw_only=True)
class GainedEdge:
    """An edge that a memory got from another by a run: its strength since, and before, None where there was none."""

    low: MemoryId
    high: MemoryId
    now: float
    before: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessTransfer:
    """What a memory got by a run of others' retrievals: how many, and when it was the last time, since and before."""

    id: MemoryId
    count: int
    at: datetime | None
    before: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoPlan:
    """What takes a run back; each of `apart` was made one by it, and is not to be again."""

    changes: tuple[Change, ...]
    edges: tuple[GainedEdge, ...]
    access_transfers: tuple[AccessTransfer, ...]
    separated_groups: tuple[frozenset[MemoryId], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDraft:
    """A run as it waits when one more prompt is handed over, and what that prompt may cost."""

    charge: Charge
    run: Run
