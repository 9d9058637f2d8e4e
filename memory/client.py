"""`Memory`: the only door of nodes and faces. One call per method; the work is in the flows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from muniment.memory.domain.consent import Consent
from muniment.memory.domain.consolidation import Finding, Pair, Run, Undone, Visit
from muniment.memory.domain.embedding import Tally
from muniment.memory.domain.erasure import Erasure, Traces
from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.journal import JournalEntry, Node
from muniment.memory.domain.maintenance import Indexing, Tended
from muniment.memory.domain.memory import Memory as Record, Neighbour
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.query import Answer, Brief, Listing, Page, Query, Verdict
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn, Use
from muniment.memory.domain.usage import Activity, Books, OpsEvent
from muniment.memory.flows import metering as spend
from muniment.memory.flows.background import (
    episodes,
    erase,
    indexing,
    insights,
    maintenance as tend,
    procedures,
    reembed as switch,
    registry as jobs,
)
from muniment.memory.flows.background.derived import says
from muniment.memory.flows.background.reembed import Switch as Switch  # noqa: PLC0414 - a face says what it was given
from muniment.memory.flows.consolidation import all_spaces as sweep, cancel, consolidate as consolidation, undo
from muniment.memory.flows.house import House, known_id
from muniment.memory.flows.reading import explain, memories, recall, stats
from muniment.memory.flows.writing import consent, lifecycle, model_extraction as extract, transfer, write
from muniment.memory.ports.llm import ChatModel
from muniment.memory.rules.procedures import tool_calls as acts
from muniment.memory.rules.provenance.fingerprints import prints

Progress = Callable[[int], None]


class Memory:
    """The long-term memory of every space of one database. Opens itself on first use; close it, or use `async with`.

    A memory's id may be given as text; what is none raises BadInput."""

    def __init__(self, house: House) -> None:
        self.house = house

    async def __aenter__(self) -> Self:
        await self.house.enter()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.house.close()

    async def open(self) -> None:
        """Reach the database and check that its vectors are of this embedder. Raises StoreDown, WrongEmbedder."""
        await self.house.open()

    async def close(self) -> None:
        """Write what is buffered and let the connections go."""
        await self.house.close()

    def now(self) -> datetime:
        """The time by the engine's clock, UTC."""
        return self.house.clock.now()

    def redact(self, text: str) -> str:
        """The text without secrets, by the settings' rules; one that holds none stays as it is, to the byte."""
        return self.house.redact(text)

    def meter(self, scope: Scope, model: ChatModel) -> ChatModel:
        """The model as the scope's agents ask it: redacted, and paid for from the tenant's budget (raises OverBudget)."""
        return spend.Metered(self.house, scope, model)

    def fingerprints(self, *texts: str) -> tuple[int, ...]:
        """What tells later, without the words themselves, that a reply only repeats these texts."""
        return prints(texts)

    async def learn(self, scope: Scope, turn: Turn) -> Receipt:
        """Keep what a turn says: gate, redact, extract by rule, validate, embed, merge, commit.

        The same turn twice is one write. Raises TooLarge, StoreError, ModelError (the embedder)."""
        return await write.learn(self.house, scope, turn)

    async def extract(self, scope: Scope, turn: TurnId) -> Receipt:
        """Keep what a model finds in a turn of the ledger; a turn that it has looked at before is a replay.

        Raises NotFound, ModelError (BadExtraction, OverBudget and the others; the turn can be tried again), StoreError."""
        return await extract.extract(self.house, scope, turn)

    async def reflect(self, scope: Scope) -> Receipt:
        """Look for insights in the latest memories and words; skipped within `insights.every_hours` of the last look.

        Raises ModelError, StoreError."""
        return await insights.reflect(self.house, scope)

    async def reflect_later(self, scope: Scope) -> None:
        """Enqueue a look for insights, if there is a model to look and none is due today; costs a set lookup mostly."""
        await insights.later(self.house, scope)

    async def remember(self, scope: Scope, text: str, *, category: str | None = None) -> Receipt:
        """Keep a statement because a person said so. Raises BadInput when it cannot be kept as it stands."""
        return await write.remember(self.house, scope, text, category)

    async def keep(self, scope: Scope, candidates: Sequence[Candidate], turns: Sequence[Turn] = ()) -> Receipt:
        """Keep candidates that are extracted already; those that fail validation are named in the receipt."""
        return await write.keep(self.house, scope, tuple(candidates), tuple(turns), node="worker")

    async def query(self, scope: Scope, agent: str, query: Query) -> Answer:
        """`memory.query`: the best memories within the agent's allowlist. The budget holds for the JSON of bullets or of
        full memories with the fence around it; an explanation comes on top. How-to memory is looked into only where its
        category is named. Raises Denied, BadInput."""
        return await recall.query(self.house, scope, agent, query)

    async def why_not(self, scope: Scope, agent: str, memory_id: MemoryId | str, query: Query) -> Verdict:
        """Why the memory is not in the answer to this query: the first reason that decides, by the same path as `query`;
        of another space's memory it only says that this space has none. Raises Denied, BadInput, Conflict."""
        return await explain.why_not(self.house, scope, agent, known_id(memory_id), query)

    async def brief(self, scope: Scope, agent: str, text: str, *, as_of: Revision | None = None) -> Brief:
        """What goes before a model for this message: stable profile, delta header, relevant bullets; with `as_of` as it
        would have been at that revision. Raises BadInput for a revision that the space has not reached."""
        return await recall.brief(self.house, scope, agent, text, as_of)

    async def seen(self, scope: Scope, rev: Revision) -> None:
        """The scope's thread has been shown everything up to `rev`."""
        await recall.seen(self.house, scope, rev)

    async def record(self, scope: Scope, turns: Sequence[Turn]) -> None:
        """Append turns to the ledger, redacted; with them the jobs of a model, when one is configured."""
        await write.record(self.house, scope, turns)

    def act(self, scope: Scope, use: Use) -> Turn:
        """A use of a tool as a turn for `record`: secrets taken out, shortened."""
        return acts.turn(use, session=scope.session or "", thread=scope.thread, redact=self.house.redact)

    async def learn_path(self, scope: Scope) -> Receipt:
        """Keep how goals were reached with tools in the scope's thread: where a person wished it, and where tools report a
        success after failures. What is known is not learned again. Raises StoreError, ModelError (the embedder)."""
        return await procedures.learn(self.house, scope)

    async def perform(self, job: Job) -> None:
        """Do a job now. A job that is done already changes nothing. Raises ModelError, StoreError, NotFound."""
        await jobs.perform(self.house, job)

    async def waiting(self) -> dict[str, dict[str, int]]:
        """The jobs in the queue: name -> due, later, running."""
        return await self.house.store.waiting()

    async def catch_up(self) -> int:
        """Enqueue the turns of every space that a model has yet to look at; how many."""
        return await jobs.catch_up(self.house)

    async def capture(self, scope: Scope) -> Receipt:
        """Keep what happened in the scope's thread as an episode, when there is enough to tell since the last one."""
        return await episodes.capture(self.house, scope)

    async def track(self, scope: Scope, event: OpsEvent) -> None:
        """Note an operational event; buffered, written with the next flush."""
        await self.house.track(scope, event)

    async def flush(self, scope: Scope) -> None:
        """Write the buffered events of the scope."""
        await self.house.flush(scope)

    async def get(self, scope: Scope, memory_id: MemoryId | str, *, as_of: Revision | datetime | None = None) -> Record:
        """One memory, whatever its state, as it is or was. Raises NotFound, BadInput for what cannot be read as of."""
        return await memories.get(self.house, scope, known_id(memory_id), as_of)

    async def members(self, scope: Scope, ids: Iterable[MemoryId]) -> Mapping[MemoryId, Record]:
        """Several memories by their ids, whatever their state, as they are now; those that are not there are left out."""
        return await memories.members(self.house, scope, ids)

    async def related(self, scope: Scope, memory_id: MemoryId | str) -> Sequence[Neighbour]:
        """The active memories that an edge ties to this one, strongest first; `sim` is the edge's strength."""
        return await memories.related(self.house, scope, known_id(memory_id))

    async def list(
        self,
        scope: Scope,
        *,
        categories: Sequence[str] = (),
        states: Sequence[str] = ("active",),
        limit: int = 100,
        offset: int = 0,
    ) -> Sequence[Record]:
        """Memories of the space, newest change first."""
        wanted = Listing(categories=tuple(categories), states=tuple(states), limit=limit, offset=offset)
        return [*(await memories.page(self.house, scope, wanted)).memories]

    async def page(self, scope: Scope, wanted: Listing, *, as_of: Revision | datetime | None = None) -> Page:
        """Memories of the space, newest change first, as they are or were, and how many there are in all.

        Raises BadInput for an unknown name, a page that cannot be, and what cannot be read as of."""
        return await memories.page(self.house, scope, wanted, as_of)

    async def history(
        self, scope: Scope, memory_id: MemoryId | str | None = None, limit: int = 100
    ) -> Sequence[JournalEntry]:
        """The journal of one memory, or of the whole space; newest first. Raises NotFound."""
        return await memories.history(self.house, scope, None if memory_id is None else known_id(memory_id), limit)

    async def pin(self, scope: Scope, memory_id: MemoryId | str, *, pinned: bool = True) -> Receipt:
        """Pin or unpin. Raises NotFound, BadInput for a pin on what is forgotten."""
        return await lifecycle.pin(self.house, scope, known_id(memory_id), pinned)

    async def forget(self, scope: Scope, memory_id: MemoryId | str) -> Receipt:
        """Soft-delete: out of every answer at once, restorable until it is purged. Raises NotFound."""
        return await lifecycle.forget(self.house, scope, known_id(memory_id))

    async def restore(self, scope: Scope, memory_id: MemoryId | str) -> Receipt:
        """Bring a soft-deleted memory back, as what it was before. Raises NotFound, BadInput when another says the same by now."""
        return await lifecycle.restore(self.house, scope, known_id(memory_id))

    async def traces(self, scope: Scope, memory_id: MemoryId | str | None = None) -> Traces:
        """Where a memory left traces: what says it elsewhere, and the threads whose checkpoints hold it; of None, all threads
        of the space. Reads the whole space. Raises NotFound."""
        return await erase.traces(self.house, scope, None if memory_id is None else known_id(memory_id))

    def said_in(self, traces: Traces, text: str) -> bool:
        """Whether a text says what the traces are of, or what goes with it."""
        return says((*traces.texts, *traces.derived), text)

    async def erase(self, scope: Scope, memory_id: MemoryId | str) -> Erasure:
        """Remove a memory for good, with all of its traces but the checkpoints, which are its caller's to remove before.

        May be repeated until it is done. Raises NotFound, Conflict while too much is being written."""
        return await erase.erase(self.house, scope, known_id(memory_id))

    async def erase_space(self, scope: Scope) -> Erasure:
        """Remove a space for good, as `erase`; nothing is counted where there is none. Raises Conflict, StoreError."""
        return await erase.erase_space(self.house, scope)

    async def consents(self, scope: Scope, *, decided: bool = False) -> Sequence[Consent]:
        """The requests that wait for a person's yes, newest first; with `decided` all that there ever were.

        Memories that wait are listed by their state, `pending`."""
        return await consent.consents(self.house, scope, decided=decided)

    async def decide(
        self, scope: Scope, ids: Sequence[UUID], *, approve: bool, by: str | None = None, node: Node = "face"
    ) -> Receipt:
        """Approve or reject requests and waiting memories, all or none; `by` is who did, the scope's actor if not given.

        Raises NotFound when one of them waits no more, BadInput when another memory says the same by now."""
        return await consent.decide(self.house, scope, ids, approve=approve, by=by, node=node)

    async def answer(self, scope: Scope, ids: Sequence[UUID], text: str) -> Sequence[Consent]:
        """Decide those of the requests that still wait by a person's clear yes or no; none for any other text."""
        return await consent.answer(self.house, scope, ids, text)

    async def expire(self, scope: Scope) -> int:
        """End the requests that nobody answered in time; how many."""
        return await consent.expire(self.house, scope)

    async def consolidate(
        self,
        scope: Scope,
        *,
        dry: bool = False,
        limit: int | None = None,
        tell: Callable[[Sequence[Finding]], None] | None = None,
    ) -> Run | None:
        """Look for memories of the space that say the same, or are no longer so, and make one of two; its record, or None
        while another run is under way. `dry` writes nothing; `limit` pairs in place of `consolidation.per_day`; `tell` is
        called with what was found. A model that fails ends the run by its status. Raises BadInput, StoreError."""
        return await consolidation.consolidate(self.house, scope, dry=dry, limit=limit, tell=tell)

    def consolidate_each(
        self, scopes: Iterable[Scope], *, dry: bool = False, limit: int | None = None, unchanged: bool = False
    ) -> AsyncIterator[Visit]:
        """`consolidate` one space after another, telling of each as soon as it is done. One in which somebody else is at work is
        passed over, and one that has not changed since it was compared, unless `unchanged`. Raises BadInput, StoreError."""
        return sweep.consolidate_each(self.house, scopes, dry=dry, limit=limit, unchanged=unchanged)

    async def begin_run(self, scope: Scope, *, dry: bool = False, limit: int | None = None) -> Run | None:
        """The first step of `consolidate`: a run, None while another one is under way. Raises BadInput, StoreError."""
        return await consolidation.begin(self.house, scope, dry=dry, limit=limit)

    async def survey_run(self, run: Run) -> tuple[Run, Sequence[Sequence[Pair]]]:
        """The second step: the pairs to check, in portions of one prompt at most. Raises Conflict, StoreError."""
        surveyed, pairs = await consolidation.survey(self.house, run)
        return surveyed, consolidation.portions(self.house, pairs)

    async def check_run(self, run: Run, pairs: Sequence[Pair]) -> tuple[Run, Sequence[Finding]]:
        """What the pairs of a portion are found to be; a model that fails is told by the run's status. Raises StoreError."""
        return await consolidation.check(self.house, run, pairs)

    async def apply_run(self, run: Run, findings: Sequence[Finding]) -> Run:
        """Do what was found, all or nothing; what changed meanwhile is left alone. Raises Conflict, StoreError."""
        return await consolidation.apply(self.house, run, findings)

    async def end_run(self, run: Run) -> Run:
        """The last step: the run's record as it stays. Raises Conflict, StoreError."""
        return await consolidation.end(self.house, run)

    async def consolidations(self, scope: Scope, limit: int = 20, *, run: UUID | None = None) -> Sequence[Run]:
        """The records of the space's consolidations, the one under way and then the newest first; or that one, if there is
        such a one. Raises BadInput for a limit that cannot be."""
        return await consolidation.records(self.house, scope, limit, run)

    async def undo_consolidation(self, scope: Scope, run: UUID) -> Undone:
        """Make of what a consolidation changed what it was, but for what has changed since. Raises NotFound, BadInput for
        one that is undone already, Busy for one that is not over, Conflict, StoreError."""
        return await undo.undo(self.house, scope, run)

    async def cancel_consolidation(self, scope: Scope, run: UUID) -> Run:
        """Call off a run that waits for a batch endpoint: it is `cancelled`, what it held of the budget is free, the endpoint is
        told to stop and its files go; where that cannot be done now a worker does it. One that is cancelled already is as it
        is. Raises NotFound, BadInput for one that does not wait, Conflict, StoreError."""
        return await cancel.cancel(self.house, scope, run)

    async def ingest(self, scope: Scope, candidates: Iterable[Candidate], progress: Progress | None = None) -> int:
        """Store candidates as they are, in batches; one that is there already (same turn) is left out. Returns new ones."""
        return await transfer.ingest(self.house, scope, candidates, progress)

    async def export(self, scope: Scope, *, content: bool = False) -> Sequence[dict[str, Any]]:
        """The whole space as JSON rows: memories, versions, journal, relations, cursors, ledger. With `content` memories and
        relations alone, without revisions: the same rows for two moments at which the same is known."""
        return await transfer.export(self.house, scope, content=content)

    async def load(self, scope: Scope, rows: Iterable[Mapping[str, Any]], progress: Progress | None = None) -> int:
        """Read the rows of an export, or plain `{"text", "category"}` rows; one with a text alone is read as a turn is. Returns
        the changes written, of an export the memories. Raises BadInput."""
        return await transfer.load(self.house, scope, rows, progress)

    async def tend(self, scope: Scope) -> Tended:
        """Forget what is due, purge what was forgotten long ago, clean the ledger, consolidate what has changed. Can be
        interrupted anywhere and taken again. Raises NotFound where there is no such space, StoreError."""
        return await tend.tend(self.house, scope)

    async def enqueue_due(self) -> int | None:
        """A round: enqueue a `tend` for every space that is due; how many. None while another process does the same."""
        return await tend.enqueue_due(self.house)

    async def activity(self, scope: Scope, days: int, changes: int = 10) -> Activity:
        """What was done in the space in the last so many days (UTC), today included, and its latest changes."""
        return await stats.activity(self.house, scope, days, changes)

    async def books(self, scope: Scope, days: int) -> Books:
        """What the scope's tenant spent on models in the last so many days (UTC), today included."""
        return await stats.books(self.house, scope, days)

    async def index(self, scope: Scope, *, drop: bool = False) -> Indexing:
        """Make, renew or drop the indexes of a large space; one below `recall.index_from` has none. Raises NotFound,
        Conflict while another process makes an index, StoreError for a role that may not."""
        return await indexing.index(self.house, scope, drop=drop)

    async def index_all(self, progress: Progress | None = None, *, drop: bool = False) -> Mapping[Scope, Indexing]:
        """As `index` for every space; those that have indexes now, or had. `progress` counts spaces."""
        return await indexing.index_all(self.house, progress, drop=drop)

    async def spaces(self, tenant: str | None = None) -> Sequence[Scope]:
        """The owners of all spaces, or of a tenant's, oldest first; maintenance only."""
        return await stats.spaces(self.house, tenant)

    async def status(self, scope: Scope) -> dict[str, Any]:
        """Counts, revision, embedder and database of the space."""
        return await self.house.status(scope)

    async def reembed(self, progress: Progress | None = None) -> int:
        """Switch to the configured embedder without a comparison. Returns the memories and versions that got a vector."""
        return await switch.reembed(self.house, progress)

    def switch(self, progress: Progress | None = None) -> AbstractAsyncContextManager[Switch]:
        """A switch to the configured embedder, step by step, beside the one in use. Raises Conflict while another is made."""
        return switch.switching(self.house, progress)

    async def embedders(self) -> Tally:
        """The database's embedder, the one of a switch under way, and how far that is. No embedder is asked for."""
        return await switch.tally(self.house)
