"""Writing: gate -> redact -> extract -> validate -> embed -> find neighbours -> merge -> commit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.journal import Node
from muniment.memory.domain.maintenance import RetentionTerms
from muniment.memory.domain.memory import compose_document
from muniment.memory.domain.plan import ExtractionRecord, Receipt
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.search import Search
from muniment.memory.domain.turn import Candidate, Extraction, ForgetRequest, Turn
from muniment.memory.domain.usage import OpsEvent, Status
from muniment.memory.flows.process_state import AvailableEmbedder, ProcessCache, WriteBehind
from muniment.memory.flows.reading.recall import Recall
from muniment.memory.flows.writing.consent import Consents
from muniment.memory.flows.writing.group import DraftGroups, GroupQueues
from muniment.memory.flows.writing.plan import Draft, PlanCommitter, Planner
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.jobs import JobQueue
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.ports.llm import ChatModel
from muniment.memory.ports.readers import VERY_LONG_TEXT, TextReader
from muniment.memory.rules.extraction.gate import validate_candidate
from muniment.memory.rules.extraction.requested import LONG_TEXT, load_rules
from muniment.memory.rules.extraction.turn_reader import MAX_PREVIOUS, TurnReader
from muniment.memory.rules.merging.aliases import sanitize_aliases
from muniment.memory.rules.merging.placement import sanitize_candidate
from muniment.memory.rules.observations.gates import OPEN_GATES, hold_finds
from muniment.memory.rules.policy.schedule import find_slot_start
from muniment.memory.rules.provenance import quoted
from muniment.memory.rules.redaction.redact import Redactor, find_denial

_Result = TypeVar("_Result")
_CUT_QUOTE = 40  # characters before a cut that are quoted
_UNREAD = 'what begins with "{}" (a long text is read for {:g} seconds; limits.reading_seconds)'
_MAX_SPACES = 10_000  # whose slots of insights are cached
_MAX_KEY_CHARS = 500  # of a stable key; an entry of Postgres's index holds 2,704 bytes


def load_reader() -> None:
    """Load what reads a turn, in a process that was started to read."""
    load_rules()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Writer:
    """Keeps what turns, texts and candidates say. Each text is redacted once, on its way in.

    What comes while the embedder is away is kept all the same: it gets its vectors by a job, and is merged then."""

    available_embedder: AvailableEmbedder
    clock: Clock
    committer: PlanCommitter
    consents: Consents
    cache: ProcessCache
    draft_groups: DraftGroups
    group_queues: GroupQueues
    jobs: JobQueue
    ledger: TurnLedger
    model: ChatModel | None
    planner: Planner
    recall: Recall
    redactor: Redactor
    retention: RetentionTerms
    settings: Settings
    text_reader: TextReader
    turn_reader: TurnReader
    write_behind: WriteBehind

    async def learn_turn(
        self,
        scope: Scope,
        turn: Turn,
        previous: Sequence[Turn] = (),
        aliases: Sequence[str] = (),
        *,
        node: Node = "hotpath",
    ) -> Receipt:
        """Keep the statements that the rules find in a turn, and carry out its wishes to forget.

        `previous` are the turns before it, oldest first: a short answer is read with the question, and a note is found
        by what it answers. Each statement gets the `aliases`. The same turn twice is one write. What another `node`
        than a chat brings does not count towards the day. Raises TooLarge, BadInput, StoreError."""
        if refusal := self.redactor.find_denial_reason(scope, turn):
            return Receipt(rev=Revision(0), skipped=refusal)
        safe, reason, extraction = await self.read_texts(
            self.turn_reader.read_turn, (turn, *previous[-MAX_PREVIOUS:]), turn, previous
        )
        if self.settings.finds != OPEN_GATES:
            extraction = hold_finds(extraction, self.settings.finds, has_model=self.model is not None)
        if aliases:
            extraction = replace(extraction, candidates=self.name_candidates(extraction.candidates, aliases))
        status: Status = "ok" if extraction.candidates or extraction.forget_requests else "skipped"
        event = OpsEvent(node=node, op="classify", status=status, ts=self.clock.now(), thread_id=scope.thread)
        await self.write_behind.track_event(scope, event)
        if reason is not None and not extraction.candidates:
            return Receipt(rev=Revision(0), skipped=reason)
        record = ExtractionRecord(turn=safe.id, source="rules", found=len(extraction.candidates))
        receipt = await self.commit_extraction(scope, extraction, (safe,), node, record, said_at=safe.at)
        if not extraction.unread:
            return receipt
        unread = _UNREAD.format(extraction.unread[:_CUT_QUOTE], self.settings.limits.reading_seconds)
        return replace(receipt, left_out=(*receipt.left_out, unread))

    async def keep_candidates(
        self,
        scope: Scope,
        candidates: tuple[Candidate, ...],
        turns: tuple[Turn, ...],
        *,
        node: Node,
        said_at: datetime | None = None,
        file_rows: int = 0,
    ) -> Receipt:
        """Redact and keep candidates that are extracted already, and the turns that they come from.

        A candidate of a turn that the denylist names is refused. `said_at` and `file_rows`: see
        `commit_extraction`."""
        denied = {turn.id for turn in turns if self.redactor.find_denial_reason(scope, turn) is not None}
        safe = tuple(self.turn_reader.sanitize_turn(turn) for turn in turns if turn.id not in denied)
        accepted = tuple(
            quoted.hold_instruction(sanitize_candidate(candidate, self.redactor))
            for candidate in candidates
            if denied.isdisjoint(candidate.turns)
        )
        receipt = await self.commit_extraction(
            scope, Extraction(candidates=accepted, found_by=None), safe, node, said_at=said_at, file_rows=file_rows
        )
        return replace(receipt, refused=receipt.refused + ("denied turn",) * (len(candidates) - len(accepted)))

    async def record_turns(self, scope: Scope, turns: Sequence[Turn]) -> None:
        """Append the turns that the denylist does not name to the ledger, redacted, with the jobs that follow from
        them."""
        told = [turn for turn in turns if self.redactor.find_denial_reason(scope, turn) is None]
        safe = [await self.read_texts(self.turn_reader.sanitize_turn, (turn,), turn) for turn in told]
        if safe:
            now, waiting = self.clock.now(), self.settings.observations.turns if self.model else 0
            work_at = now + timedelta(seconds=self.settings.procedures.wait_seconds)
            jobs = await self.read_texts(self.turn_reader.make_turn_jobs, safe, scope, safe, work_at, waiting)
            await self.ledger.record_turns(scope, safe, jobs, retention=self.retention.turns, now=now)

    async def read_texts(self, read: Callable[..., _Result], turns: Sequence[Turn], /, *arguments: Any) -> _Result:
        """Call a method of the reader. The longest of the turns says where: here, in a thread, or in a process."""
        longest = max((len(turn.text) for turn in turns), default=0)
        if longest <= LONG_TEXT:
            return read(*arguments)
        if longest <= VERY_LONG_TEXT:
            return await asyncio.to_thread(read, *arguments)
        return await asyncio.to_thread(self.text_reader.call_function, read, *arguments)

    async def schedule_reflection(self, scope: Scope) -> None:
        """Enqueue the job `reflect` for when the space is due, once per slot. Does nothing without a model."""
        if self.model is None:
            return
        now, every = self.clock.now(), timedelta(hours=self.settings.insights.every_hours)
        slot = find_slot_start(now, every)
        if self.cache.insight_slots.get(scope.space) == slot:
            return
        last = (await self.ledger.read_latest_turns(scope, turns=0)).insights_at
        due = last + every if last else now
        await self.jobs.enqueue_jobs([Job(name="reflect", scope=scope, key=slot.isoformat(), at=max(now, due))])
        if len(self.cache.insight_slots) >= _MAX_SPACES:
            self.cache.insight_slots.clear()
        self.cache.insight_slots[scope.space] = slot

    def name_candidates(self, candidates: tuple[Candidate, ...], aliases: Sequence[str]) -> tuple[Candidate, ...]:
        """Return the candidates with other names of what they are about. Raises BadInput for a bad one."""
        names = sanitize_aliases(aliases, self.redactor)
        return tuple(replace(candidate, aliases=names) for candidate in candidates) if names else candidates

    def check_candidate(self, candidate: Candidate) -> tuple[Candidate | None, str | None]:
        """Return the candidate, repaired where it can be, and None; or None and the reason why it cannot be kept."""
        if candidate.fact is not None and candidate.kind != "semantic":
            return None, "only a semantic memory has a fact"
        if candidate.fact is not None and len(candidate.fact.key) > _MAX_KEY_CHARS:
            return None, f"a fact of more than {_MAX_KEY_CHARS} characters"
        settings = self.settings
        if refusal := find_denial(settings.redact, tags=candidate.tags):
            return None, refusal
        most = settings.procedures.chars if candidate.kind == "procedural" else settings.limits.memory_chars
        return validate_candidate(candidate, categories=frozenset(settings.categories), max_chars=most)

    async def commit_extraction(
        self,
        scope: Scope,
        extraction: Extraction,
        turns: tuple[Turn, ...],
        node: Node,
        record: ExtractionRecord | None = None,
        *,
        said_at: datetime | None = None,
        file_rows: int = 0,
    ) -> Receipt:
        """Validate, embed, merge and commit an extraction that is redacted. It consumes `turns`.

        A statement said at `said_at` (default: now) corrects only earlier ones. Candidates of `file_rows` rows are so
        many writes. A model's `record` is always written: no answer is paid for twice. Raises Conflict, StoreError."""
        if refusal := self.redactor.find_denial_reason(scope):
            return Receipt(rev=Revision(0), skipped=refusal)
        most = self.settings.limits.memory_chars
        results = [(raw, *self.check_candidate(raw)) for raw in extraction.candidates]
        valid = tuple(candidate for _, candidate, _ in results if candidate is not None)
        wanted = frozenset(kept.text for raw, kept, _ in results if kept and raw.text in extraction.requested_texts)
        cuts = tuple(
            f'what follows "{candidate.text[-_CUT_QUOTE:]}" (a memory has at most {most} characters)'
            for raw, candidate, _ in results
            if candidate is not None and len(candidate.text) < len(" ".join(raw.text.split())) > most
        )
        if any(candidate.state == "pending" for candidate in valid):
            valid = await self.consents.drop_already_pending(scope, valid)
        valid = await self.consents.drop_refused(scope, valid) if node != "hotpath" else valid
        refusals = extraction.refusals + tuple((raw, why) for raw, _, why in results if why is not None)
        refused = tuple(why for _, why in refusals)
        record = replace(record, refused=record.refused + refused) if record is not None else None
        has_use = valid or extraction.forget_requests or (refusals and node == "worker")
        if not has_use and (record is None or record.source == "rules"):
            return Receipt(rev=Revision(0), refused=refused)
        documents = [compose_document(each.text, each.aliases) for each in valid]
        draft = Draft(
            candidates=valid,
            vectors=tuple(await self.available_embedder.embed_documents(documents)),
            forget=tuple([await self._prepare_request(request) for request in extraction.forget_requests]),
            turns=turns,
            node=node,
            record=record,
            said_at=said_at,
            file_rows=file_rows,
            found_by=extraction.found_by,
            refusals=refusals,
            requested_texts=wanted,
        )
        is_busy = scope.space in self.group_queues.drafts or self.committer.locks.space_lock(scope.space).locked()
        if is_busy and self.draft_groups.can_join(draft):
            receipt = await self.draft_groups.commit_draft(scope, draft)
        else:
            receipt = await self.committer.commit_with_retry(scope, partial(self.planner.make_plan, scope, draft))
        return replace(
            await self.consents.auto_approve(scope, receipt, node),
            refused=(record.refused if record else refused) + receipt.refused,
            left_out=cuts,
            repaired=record.repaired if record else (),
        )

    async def _prepare_request(self, request: ForgetRequest) -> tuple[ForgetRequest, Search | None]:
        """Return a request to forget with the search for its memories; None for one without words to search by."""
        query = Query(text=request.words)
        return request, await self.recall.prepare_search(query, tuple(self.settings.categories)) if query.text else None
