"""`Memory`: the only door of nodes and faces. One call per method; the work is in the flows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from muniment.memory.domain.consent import Consent
from muniment.memory.domain.consolidation import Finding, Pair, Run, SpaceResult, UndoResult
from muniment.memory.domain.embedding import SwitchProgress
from muniment.memory.domain.erasure import ErasureReceipt, Traces
from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.journal import JournalEntry, Node
from muniment.memory.domain.maintenance import IndexingResult, MaintenanceResult
from muniment.memory.domain.memory import Memory as Record, Neighbour
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.query import Answer, Brief, Explanation, ListRequest, MemoryPage, Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, ToolUse, Turn
from muniment.memory.domain.usage import OpsEvent, SpaceActivity, UsageReport
from muniment.memory.flows import metering
from muniment.memory.flows.background import (
    episodes,
    erase,
    indexing,
    insights,
    maintenance,
    procedures,
    reembed as switch,
    registry,
)
from muniment.memory.flows.background.derived import mentions_any
from muniment.memory.flows.background.reembed import EmbedderSwitch as EmbedderSwitch  # noqa: PLC0414 - a face says what it was given
from muniment.memory.flows.consolidation import all_spaces, cancel, consolidate as consolidation, undo
from muniment.memory.flows.house import House, parse_memory_id
from muniment.memory.flows.reading import explain, memories, recall, stats
from muniment.memory.flows.writing import consent, lifecycle, model_extraction as extract, transfer, write
from muniment.memory.ports.llm import ChatModel
from muniment.memory.rules.procedures import tool_calls
from muniment.memory.rules.provenance.fingerprints import hash_shingles

OnProgress = Callable[[int], None]


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

    def meter_model(self, scope: Scope, model: ChatModel) -> ChatModel:
        """The model as the scope's agents ask it: redacted, and paid for from the tenant's budget (raises OverBudget)."""
        return metering.MeteredModel(self.house, scope, model)

    def shingle_hashes(self, *texts: str) -> tuple[int, ...]:
        """What tells later, without the words themselves, that a reply only repeats these texts."""
        return hash_shingles(texts)

    async def learn(self, scope: Scope, turn: Turn) -> Receipt:
        """Keep what a turn says: gate, redact, extract by rule, validate, embed, merge, commit.

        The same turn twice is one write. Raises TooLarge, StoreError, ModelError (the embedder)."""
        return await write.learn_turn(self.house, scope, turn)

    async def extract(self, scope: Scope, turn: TurnId) -> Receipt:
        """Keep what a model finds in a turn of the ledger; a turn that it has looked at before is a replay.

        Raises NotFound, ModelError (BadExtraction, OverBudget and the others; the turn can be tried again), StoreError."""
        return await extract.extract_turn(self.house, scope, turn)

    async def reflect(self, scope: Scope) -> Receipt:
        """Look for insights in the latest memories and words; skipped within `insights.every_hours` of the last look.

        Raises ModelError, StoreError."""
        return await insights.find_insights(self.house, scope)

    async def schedule_reflection(self, scope: Scope) -> None:
        """Enqueue a look for insights, if there is a model to look and none is due today; costs a set lookup mostly."""
        await insights.schedule_reflection(self.house, scope)

    async def remember(self, scope: Scope, text: str, *, category: str | None = None) -> Receipt:
        """Keep a statement because a person said so. Raises BadInput when it cannot be kept as it stands."""
        return await write.remember_text(self.house, scope, text, category)

    async def keep_candidates(
        self, scope: Scope, candidates: Sequence[Candidate], turns: Sequence[Turn] = ()
    ) -> Receipt:
        """Keep candidates that are extracted already; those that fail validation are named in the receipt."""
        return await write.keep_candidates(self.house, scope, tuple(candidates), tuple(turns), node="worker")

    async def query(self, scope: Scope, agent: str, query: Query) -> Answer:
        """`memory.query`: the best memories within the agent's allowlist. The budget holds for the JSON of bullets or of
        full memories with the fence around it; an explanation comes on top. How-to memory is looked into only where its
        category is named. Raises Denied, BadInput."""
        return await recall.query_memories(self.house, scope, agent, query)

    async def why_not(self, scope: Scope, agent: str, memory_id: MemoryId | str, query: Query) -> Explanation:
        """Why the memory is not in the answer to this query: the first reason that decides, by the same path as `query`;
        of another space's memory it only says that this space has none. Raises Denied, BadInput, Conflict."""
        return await explain.explain_absence(self.house, scope, agent, parse_memory_id(memory_id), query)

    async def brief(self, scope: Scope, agent: str, text: str, *, as_of: Revision | None = None) -> Brief:
        """What goes before a model for this message: stable profile, delta header, relevant bullets; with `as_of` as it
        would have been at that revision. Raises BadInput for a revision that the space has not reached."""
        return await recall.build_brief(self.house, scope, agent, text, as_of)

    async def mark_seen(self, scope: Scope, rev: Revision) -> None:
        """The scope's thread has been shown everything up to `rev`."""
        await recall.mark_seen(self.house, scope, rev)

    async def record(self, scope: Scope, turns: Sequence[Turn]) -> None:
        """Append turns to the ledger, redacted; with them the jobs of a model, when one is configured."""
        await write.record_turns(self.house, scope, turns)

    def make_tool_turn(self, scope: Scope, call: ToolUse) -> Turn:
        """A use of a tool as a turn for `record`: secrets taken out, shortened."""
        return tool_calls.make_tool_turn(
            call, session=scope.session or "", thread=scope.thread, redact=self.house.redact
        )

    async def learn_path(self, scope: Scope) -> Receipt:
        """Keep how goals were reached with tools in the scope's thread: where a person wished it, and where tools report a
        success after failures. What is known is not learned again. Raises StoreError, ModelError (the embedder)."""
        return await procedures.learn_procedures(self.house, scope)

    async def perform_job(self, job: Job) -> None:
        """Do a job now. A job that is done already changes nothing. Raises ModelError, StoreError, NotFound."""
        await registry.perform_job(self.house, job)

    async def count_jobs(self) -> dict[str, dict[str, int]]:
        """The jobs in the queue: name -> due, later, running."""
        return await self.house.store.count_jobs()

    async def enqueue_missed(self) -> int:
        """Enqueue the turns of every space that a model has yet to look at; how many."""
        return await registry.enqueue_missed(self.house)

    async def capture(self, scope: Scope) -> Receipt:
        """Keep what happened in the scope's thread as an episode, when there is enough to tell since the last one."""
        return await episodes.capture_episode(self.house, scope)

    async def track(self, scope: Scope, event: OpsEvent) -> None:
        """Note an operational event; buffered, written with the next flush."""
        await self.house.track_event(scope, event)

    async def flush(self, scope: Scope) -> None:
        """Write the buffered events of the scope."""
        await self.house.flush(scope)

    async def get(self, scope: Scope, memory_id: MemoryId | str, *, as_of: Revision | datetime | None = None) -> Record:
        """One memory, whatever its state, as it is or was. Raises NotFound, BadInput for what cannot be read as of."""
        return await memories.get_memory(self.house, scope, parse_memory_id(memory_id), as_of)

    async def get_many(self, scope: Scope, ids: Iterable[MemoryId]) -> Mapping[MemoryId, Record]:
        """Several memories by their ids, whatever their state, as they are now; those that are not there are left out."""
        return await memories.get_memories(self.house, scope, ids)

    async def related(self, scope: Scope, memory_id: MemoryId | str) -> Sequence[Neighbour]:
        """The active memories that an edge ties to this one, strongest first; `sim` is the edge's strength."""
        return await memories.find_related(self.house, scope, parse_memory_id(memory_id))

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
        listing = ListRequest(categories=tuple(categories), states=tuple(states), limit=limit, offset=offset)
        return [*(await memories.list_page(self.house, scope, listing)).memories]

    async def page(self, scope: Scope, listing: ListRequest, *, as_of: Revision | datetime | None = None) -> MemoryPage:
        """Memories of the space, newest change first, as they are or were, and how many there are in all.

        Raises BadInput for an unknown name, a page that cannot be, and what cannot be read as of."""
        return await memories.list_page(self.house, scope, listing, as_of)

    async def history(
        self, scope: Scope, memory_id: MemoryId | str | None = None, limit: int = 100
    ) -> Sequence[JournalEntry]:
        """The journal of one memory, or of the whole space; newest first. Raises NotFound."""
        return await memories.read_history(
            self.house, scope, None if memory_id is None else parse_memory_id(memory_id), limit
        )

    async def pin(self, scope: Scope, memory_id: MemoryId | str, *, pinned: bool = True) -> Receipt:
        """Pin or unpin. Raises NotFound, BadInput for a pin on what is forgotten."""
        return await lifecycle.pin_memory(self.house, scope, parse_memory_id(memory_id), pinned)

    async def forget(self, scope: Scope, memory_id: MemoryId | str) -> Receipt:
        """Soft-delete: out of every answer at once, restorable until it is purged. Raises NotFound."""
        return await lifecycle.forget_memory(self.house, scope, parse_memory_id(memory_id))

    async def restore(self, scope: Scope, memory_id: MemoryId | str) -> Receipt:
        """Bring a soft-deleted memory back, as what it was before. Raises NotFound, BadInput when another says the same by now."""
        return await lifecycle.restore_memory(self.house, scope, parse_memory_id(memory_id))

    async def find_traces(self, scope: Scope, memory_id: MemoryId | str | None = None) -> Traces:
        """Where a memory left traces: what says it elsewhere, and the threads whose checkpoints hold it; of None, all threads
        of the space. Reads the whole space. Raises NotFound."""
        return await erase.find_traces(self.house, scope, None if memory_id is None else parse_memory_id(memory_id))

    def mentions(self, traces: Traces, text: str) -> bool:
        """Whether a text says what the traces are of, or what goes with it."""
        return mentions_any((*traces.texts, *traces.derived), text)

    async def erase(self, scope: Scope, memory_id: MemoryId | str) -> ErasureReceipt:
        """Remove a memory for good, with all of its traces but the checkpoints, which are its caller's to remove before.

        May be repeated until it is done. Raises NotFound, Conflict while too much is being written."""
        return await erase.erase_memory(self.house, scope, parse_memory_id(memory_id))

    async def erase_space(self, scope: Scope) -> ErasureReceipt:
        """Remove a space for good, as `erase`; nothing is counted where there is none. Raises Conflict, StoreError."""
        return await erase.erase_space(self.house, scope)

    async def consents(self, scope: Scope, *, decided: bool = False) -> Sequence[Consent]:
        """The requests that wait for a person's yes, newest first; with `decided` all that there ever were.

        Memories that wait are listed by their state, `pending`."""
        return await consent.list_consents(self.house, scope, include_decided=decided)

    async def decide_consents(
        self, scope: Scope, ids: Sequence[UUID], *, approve: bool, by: str | None = None, node: Node = "face"
    ) -> Receipt:
        """Approve or reject requests and waiting memories, all or none; `by` is who did, the scope's actor if not given.

        Raises NotFound when one of them waits no more, BadInput when another memory says the same by now."""
        return await consent.decide_consents(self.house, scope, ids, approve=approve, by=by, node=node)

    async def answer_consents(self, scope: Scope, ids: Sequence[UUID], text: str) -> Sequence[Consent]:
        """Decide those of the requests that still wait by a person's clear yes or no; none for any other text."""
        return await consent.answer_consents(self.house, scope, ids, text)

    async def expire_consents(self, scope: Scope) -> int:
        """End the requests that nobody answered in time; how many."""
        return await consent.expire_consents(self.house, scope)

    async def consolidate(
        self,
        scope: Scope,
        *,
        dry: bool = False,
        limit: int | None = None,
        on_findings: Callable[[Sequence[Finding]], None] | None = None,
    ) -> Run | None:
        """Look for memories of the space that say the same, or are no longer so, and make one of two; its record, or None
        while another run is under way. `dry` writes nothing; `limit` pairs in place of `consolidation.per_day`; `tell` is
        called with what was found. A model that fails ends the run by its status. Raises BadInput, StoreError."""
        return await consolidation.consolidate_space(self.house, scope, dry=dry, limit=limit, on_findings=on_findings)

    def consolidate_each(
        self, scopes: Iterable[Scope], *, dry: bool = False, limit: int | None = None, unchanged: bool = False
    ) -> AsyncIterator[SpaceResult]:
        """`consolidate` one space after another, telling of each as soon as it is done. One in which somebody else is at work is
        passed over, and one that has not changed since it was compared, unless `unchanged`. Raises BadInput, StoreError."""
        return all_spaces.consolidate_each(self.house, scopes, dry=dry, limit=limit, unchanged=unchanged)

    async def begin_run(self, scope: Scope, *, dry: bool = False, limit: int | None = None) -> Run | None:
        """The first step of `consolidate`: a run, None while another one is under way. Raises BadInput, StoreError."""
        return await consolidation.begin_run(self.house, scope, dry=dry, limit=limit)

    async def survey_run(self, run: Run) -> tuple[Run, Sequence[Sequence[Pair]]]:
        """The second step: the pairs to check, in portions of one prompt at most. Raises Conflict, StoreError."""
        surveyed, pairs = await consolidation.survey_pairs(self.house, run)
        return surveyed, consolidation.split_portions(self.house, pairs)

    async def check_run(self, run: Run, pairs: Sequence[Pair]) -> tuple[Run, Sequence[Finding]]:
        """What the pairs of a portion are found to be; a model that fails is told by the run's status. Raises StoreError."""
        return await consolidation.check_pairs(self.house, run, pairs)

    async def apply_run(self, run: Run, findings: Sequence[Finding]) -> Run:
        """Do what was found, all or nothing; what changed meanwhile is left alone. Raises Conflict, StoreError."""
        return await consolidation.apply_findings(self.house, run, findings)

    async def end_run(self, run: Run) -> Run:
        """The last step: the run's record as it stays. Raises Conflict, StoreError."""
        return await consolidation.end_run(self.house, run)

    async def consolidations(self, scope: Scope, limit: int = 20, *, run: UUID | None = None) -> Sequence[Run]:
        """The records of the space's consolidations, the one under way and then the newest first; or that one, if there is
        such a one. Raises BadInput for a limit that cannot be."""
        return await consolidation.list_runs(self.house, scope, limit, run)

    async def undo_consolidation(self, scope: Scope, run: UUID) -> UndoResult:
        """Make of what a consolidation changed what it was, but for what has changed since. Raises NotFound, BadInput for
        one that is undone already, Busy for one that is not over, Conflict, StoreError."""
        return await undo.undo_consolidation(self.house, scope, run)

    async def cancel_consolidation(self, scope: Scope, run: UUID) -> Run:
        """Call off a run that waits for a batch endpoint: it is `cancelled`, what it held of the budget is free, the endpoint is
        told to stop and its files go; where that cannot be done now a worker does it. One that is cancelled already is as it
        is. Raises NotFound, BadInput for one that does not wait, Conflict, StoreError."""
        return await cancel.cancel_consolidation(self.house, scope, run)

    async def ingest(self, scope: Scope, candidates: Iterable[Candidate], on_progress: OnProgress | None = None) -> int:
        """Store candidates as they are, in batches; one that is there already (same turn) is left out. Returns new ones."""
        return await transfer.ingest_candidates(self.house, scope, candidates, on_progress)

    async def export(self, scope: Scope, *, content: bool = False) -> Sequence[dict[str, Any]]:
        """The whole space as JSON rows: memories, versions, journal, relations, cursors, ledger. With `content` memories and
        relations alone, without revisions: the same rows for two moments at which the same is known."""
        return await transfer.export_space(self.house, scope, content=content)

    async def load(self, scope: Scope, rows: Iterable[Mapping[str, Any]], on_progress: OnProgress | None = None) -> int:
        """Read the rows of an export, or plain `{"text", "category"}` rows; one with a text alone is read as a turn is. Returns
        the changes written, of an export the memories. Raises BadInput."""
        return await transfer.load_rows(self.house, scope, rows, on_progress)

    async def maintain(self, scope: Scope) -> MaintenanceResult:
        """Forget what is due, purge what was forgotten long ago, clean the ledger, consolidate what has changed. Can be
        interrupted anywhere and taken again. Raises NotFound where there is no such space, StoreError."""
        return await maintenance.maintain_space(self.house, scope)

    async def enqueue_due(self) -> int | None:
        """A round: enqueue a `tend` for every space that is due; how many. None while another process does the same."""
        return await maintenance.enqueue_due(self.house)

    async def activity(self, scope: Scope, days: int, changes: int = 10) -> SpaceActivity:
        """What was done in the space in the last so many days (UTC), today included, and its latest changes."""
        return await stats.get_activity(self.house, scope, days, changes)

    async def usage(self, scope: Scope, days: int) -> UsageReport:
        """What the scope's tenant spent on models in the last so many days (UTC), today included."""
        return await stats.get_usage(self.house, scope, days)

    async def index(self, scope: Scope, *, drop: bool = False) -> IndexingResult:
        """Make, renew or drop the indexes of a large space; one below `recall.index_from` has none. Raises NotFound,
        Conflict while another process makes an index, StoreError for a role that may not."""
        return await indexing.index_space(self.house, scope, drop=drop)

    async def index_all(
        self, on_progress: OnProgress | None = None, *, drop: bool = False
    ) -> Mapping[Scope, IndexingResult]:
        """As `index` for every space; those that have indexes now, or had. `progress` counts spaces."""
        return await indexing.index_spaces(self.house, on_progress, drop=drop)

    async def spaces(self, tenant: str | None = None) -> Sequence[Scope]:
        """The owners of all spaces, or of a tenant's, oldest first; maintenance only."""
        return await stats.list_spaces(self.house, tenant)

    async def status(self, scope: Scope) -> dict[str, Any]:
        """Counts, revision, embedder and database of the space."""
        return await self.house.get_status(scope)

    async def reembed(self, on_progress: OnProgress | None = None) -> int:
        """Switch to the configured embedder without a comparison. Returns the memories and versions that got a vector."""
        return await switch.reembed_all(self.house, on_progress)

    def switch_embedder(self, on_progress: OnProgress | None = None) -> AbstractAsyncContextManager[EmbedderSwitch]:
        """A switch to the configured embedder, step by step, beside the one in use. Raises Conflict while another is made."""
        return switch.open_switch(self.house, on_progress)

    async def embedders(self) -> SwitchProgress:
        """The database's embedder, the one of a switch under way, and how far that is. No embedder is asked for."""
        return await switch.read_embedders(self.house)
