"""What the night shift needs of a store: pairs to compare, runs and their records, what is due, and removal for good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, NewType, Protocol
from uuid import UUID

from muniment.memory.plan import JobName, Settlement, Source, WritePlan
from muniment.memory.records import Kind, Memory, MemoryId, Revision, Scope, Turn, TurnId
from muniment.memory.reversal import Reversal, Step

RunId = NewType("RunId", UUID)
_START = Revision(0)
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
    upto: Revision = _START  # what changed up to there was compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """Memories as they are at one revision, whatever their state, and the strengths of their edges by (lower, higher) id."""

    rev: Revision
    memories: dict[MemoryId, Memory] = field(default_factory=dict)
    edges: dict[tuple[MemoryId, MemoryId], float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
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
    asked: tuple[Asked, ...] = ()
    reason: str | None = None  # of a status that is not the usual: a class of error, never its message
    dry: bool = False  # nothing of it was written, this record neither
    limit: int | None = None  # pairs to check, in place of what the day has left; not kept
    surveyed: Revision = _START  # what changed up to there is compared and checked, by this run or an earlier one
    upto: Revision = _START  # where `surveyed` will be when all pairs of the survey are checked


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One space of many: its run, or why there is none. `busy`: somebody else is at work there; `waiting`: its last run waits
    for a batch endpoint; `unchanged`: what there is was compared."""

    scope: Scope
    run: Run | None = None
    skipped: Literal["unchanged", "busy", "waiting"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A pair in a prompt that is with a batch endpoint: which prompt, which place in it, and what was shown."""

    request: str
    place: int
    older: MemoryId
    newer: MemoryId
    revs: tuple[Revision, Revision]
    sim: float
    tries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """After how long what goes: days for a memory that nobody touches, by category, None for never (one that is not named
    has `untouched_days`), and by scope, whatever its importance, None for no days of its own; how old turns, and events and
    looks, may be."""

    untouched_days: int
    categories: Mapping[str, int | None]
    importance_below: int
    fade_days: int
    scopes: Mapping[str, int | None]
    turns: timedelta
    events: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What of a space has to go, at one revision: memories to forget and to purge; and when the next of them will, None for
    never. `tended`: up to which revision the space was tended before."""

    rev: Revision
    tended: Revision
    forget: tuple[Memory, ...] = ()
    purge: tuple[MemoryId, ...] = ()
    again: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tended:
    """What became of a space that was tended: memories forgotten and purged, turns of the ledger removed."""

    forgotten: int = 0
    purged: int = 0
    turns: int = 0
    run: Run | None = None  # its consolidation, where it had changed


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What a memory says, as it is (`since` is 0) or as it was from a revision on."""

    id: MemoryId
    since: Revision
    kind: Kind
    text: str
    context: str | None = None
    turns: tuple[TurnId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """Where a memory, or all of a space, left traces, at one revision; `texts` are what the memory says and has said."""

    rev: Revision
    threads: frozenset[str] = frozenset()  # in which it was said or recalled, as the scope names them
    turns: tuple[TurnId, ...] = ()  # of the ledger, that support it or say it
    built_on: tuple[Stated, ...] = ()  # other memories that say it, or were made of those turns
    former: tuple[Stated, ...] = ()  # former texts of others that say it
    around: tuple[Stated, ...] = ()  # others that say it in the words around them only
    texts: tuple[str, ...] = field(default=(), repr=False)
    derived: tuple[str, ...] = field(default=(), repr=False)  # texts of others that go with it
    prints: tuple[int, ...] = field(default=(), repr=False)  # of all these texts, as turns keep what was recalled


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """A receipt: what was removed for good, counted by the names of its tables; no word of it."""

    id: UUID
    what: Literal["memory", "user", "purge"]
    at: datetime
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Where a survey looks, in the embedder's terms: see `Consolidation` and `Profile`."""

    pool: int
    recent: datetime
    importance: int
    retrieved: float
    partners: datetime
    most: int  # partners, the latest to change: what a survey costs is bounded in a space of any size
    checked: datetime
    tries: int  # after which a pair without an answer counts as checked, too
    asks: bool  # there is a model: what the rules alone doubted does not count as checked
    closest: int
    fallback: float
    worded: float
    foreign: bool  # the embedder knows Latin letters alone: other texts are compared by their words


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrubbed:
    """How far the database's files were rewritten: tables without their dead rows, and what was written ahead of them."""

    tables: int
    statistics: bool  # what the planner remembers of the columns
    log: bool  # the write-ahead log of before is gone; else only time overwrites it
    held: int = 0  # dead rows that somebody still sees, and that were written anew with the rest: scrub again

    def __add__(self, other: Scrubbed) -> Scrubbed:
        """As if two databases were one."""
        return Scrubbed(
            tables=self.tables + other.tables,
            statistics=self.statistics and other.statistics,
            log=self.log and other.log,
            held=self.held + other.held,
        )


class Consolidating(Protocol):
    """The part of a store that a consolidation asks."""

    async def begin_run(self, run: Run, lease: timedelta) -> Run | None:
        """Write the record; None while another run of the space is under way. One whose lease is over is given up:
        `interrupted`."""
        ...

    async def keep_run(
        self,
        run: Run,
        lease: timedelta,
        plan: WritePlan | None = None,
        findings: Sequence[Finding] = (),
        *,
        settled: Sequence[Settlement] | None = None,
    ) -> Run:
        """Write how far the run is, with what it decided: the record, the fingerprints and the plan in one transaction. The
        record as it is then: of the findings without an answer those are `shelved` that had none on so many days.
        `settled`: the run has waited for a batch until now, and this becomes of the money that it held.

        What was retrieved goes over with a merge. Raises Conflict when the space is no longer at `plan.expects`, one of the
        plan's memories was retrieved since, the run is no longer its space's own, or it waits and should not, or the other
        way round: somebody else has handed it over, or collected it."""
        ...

    async def give_up(self, run: Run, at: datetime) -> None:
        """Close the record as `interrupted`, with what it says: its last step may have been written without an answer. A run
        that waits goes on."""
        ...

    async def runs(self, scope: Scope, limit: int, run: RunId | None = None) -> list[Run]:
        """The records of the space: the one that is under way, then the newest first; or that one."""
        ...

    async def survey(self, scope: Scope, bounds: Bounds, limit: int, *, since: Revision) -> Survey:
        """S-37..S-40 in one statement: at most `limit` pairs. `since`: what changed after it is compared in any case."""
        ...

    async def members(self, scope: Scope, ids: Sequence[MemoryId]) -> Members:
        """These memories as they are now, with their edges."""
        ...

    async def compared(self, scope: Scope) -> tuple[Revision, bool]:
        """Up to which revision the space's runs have compared it, and whether anybody else has changed it since."""
        ...

    async def checked_since(self, scope: Scope, since: datetime) -> int:
        """How many pairs of the space were checked within a day since then."""
        ...

    async def changed_by(self, scope: Scope, run: RunId) -> tuple[Revision, list[Step]]:
        """The space's revision, and what a run changed."""
        ...

    async def undo_run(self, run: Run, plan: WritePlan, back: Reversal) -> None:
        """Write that the run was undone, with the plan that does it; an edge that is still as the run has left it becomes
        what it was, and what was retrieved since stays so. What is `apart` counts as looked at and different from `plan.at`
        on, each with each and however near. Raises Conflict."""
        ...


class Tending(Protocol):
    """The part of a store that knows what is due, in one space and in all."""

    async def due(self, scope: Scope, now: datetime, terms: Terms, limit: int) -> Due | None:
        """What is due now, at most so many memories of each kind; None where there is no such space."""
        ...

    async def tended(
        self, scope: Scope, seen: Revision | None, at: datetime, again: datetime | None, terms: Terms
    ) -> None:
        """Note that the space was tended and when something in it is due next: `again`, or what of the ledger is before it.

        `seen`: the revision that was looked at, None when not to the end. What a consolidation changed counts as looked at;
        the first change of anybody else after it makes the space due again."""
        ...

    async def enqueue_due(self, now: datetime, every: timedelta, spread: timedelta, terms: Terms) -> int | None:
        """Enqueue `tend` for every space that is due, each tenant at its own time within `spread`; how many. Those that
        have changed are due once in `every`, those that were tended by other terms at once. None while another process does
        the same."""
        ...

    async def periodic(self, name: JobName, at: datetime) -> bool:
        """Enqueue a job of no space, once for each slot, named by its beginning, however many ask; whether this call did."""
        ...

    async def touch(self, scope: Scope, seen: Mapping[MemoryId, int], at: datetime) -> frozenset[MemoryId]:
        """Count that memories were retrieved. Not a change; waits for no writer: those that one holds are returned."""
        ...

    async def clean(
        self, scope: Scope, turns_before: datetime, events_before: datetime, checked_before: datetime
    ) -> int:
        """Remove turns, and events and looks, that are older; not those that a job still wants. How many turns. So go
        what is noted of pairs that were checked before, and the records of runs that changed nothing."""
        ...


class Erasing(Protocol):
    """The part of a store that removes for good."""

    async def stated(self, scope: Scope, after: tuple[MemoryId, Revision], limit: int) -> list[Stated]:
        """The texts of all memories, whatever their state, and their former ones, in the order of ids and revisions."""
        ...

    async def ledger(self, scope: Scope, after: TurnId, limit: int) -> list[Turn]:
        """The turns of the ledger, in the order of their ids."""
        ...

    async def threads(
        self, scope: Scope, ids: Sequence[MemoryId] | None = None, turns: Sequence[TurnId] = ()
    ) -> frozenset[str]:
        """The threads in which these memories were written or changed and these turns were said; of None all of the space."""
        ...

    async def purge(self, scope: Scope, ids: Sequence[MemoryId], at: datetime) -> Erasure:
        """Remove those of the memories whose `purge_at` has come and that are not active: their vectors, versions, relations,
        requests and events, and what the journal says of them. The journal keeps that they were, and gets one last line each.
        """
        ...

    async def erase(self, scope: Scope, memory_id: MemoryId, traces: Traces, at: datetime) -> Erasure:
        """Remove a memory as `purge` does, whatever its state, and its traces: what was built on it, the turns that say it
        and what hangs on them. Raises Conflict when the space is no longer at `traces.rev`."""
        ...

    async def erase_space(self, scope: Scope, at: datetime) -> Erasure:
        """Remove a space: every row of every table, its jobs and its indexes. What the tenant spent stays, without a name."""
        ...


class Learning(Protocol):
    """The part of a store that knows what was done."""

    async def worked(self, scope: Scope, *, limit: int) -> list[Turn]:
        """The latest turns of the scope's thread by a person or a tool, oldest first; none without a thread."""
        ...

    async def present(self, scope: Scope, turns: Sequence[TurnId]) -> frozenset[TurnId]:
        """Those of the turns that are in the ledger."""
        ...
