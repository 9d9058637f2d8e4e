"""The write flow: gate -> redact -> extract -> validate -> embed -> near -> merge -> commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from uuid import uuid4

from muniment.memory.config.schema import EmbedderProfile
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId, Revision, Vector
from muniment.memory.domain.journal import Node
from muniment.memory.domain.maintenance import RetentionTerms
from muniment.memory.domain.plan import Change, ExtractionRecord, Receipt, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Extraction, Turn
from muniment.memory.domain.usage import OpsEvent, Status
from muniment.memory.errors import BadInput, TooLarge
from muniment.memory.flows.redactor import Redactor
from muniment.memory.flows.write_behind import WriteBehind
from muniment.memory.flows.writing import consent
from muniment.memory.flows.writing.background_jobs import TurnJobs
from muniment.memory.flows.writing.consent import Consents
from muniment.memory.flows.writing.forget_requests import (
    ForgetRequests,
    RequestSearch,
)
from muniment.memory.flows.writing.neighbours import NeighbourFinder
from muniment.memory.flows.writing.quotas import Quotas, WriteContext
from muniment.memory.flows.writing.transaction import PlanCommitter, Rejections, VectorCache
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.extraction.validate import SUMMARY_RULES, validate_candidate
from muniment.memory.rules.language import tokens
from muniment.memory.rules.merging.merge import IncomingCandidate, MergeResult, merge_candidates
from muniment.memory.rules.policy.consent import build_proposals
from muniment.memory.rules.procedures import requests
from muniment.memory.rules.provenance import quoted
from muniment.memory.rules.redaction.redact import find_denial

_MAX_UNCOVERED = 1 / 3
_REPHRASE_ADVICE = "Say it without the secret: nothing of it was kept."
_MAX_KEY_CHARS = 500  # of a stable key; an entry of Postgres's index holds 2,704 bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """What is to be kept, embedded and validated, before it meets the space."""

    candidates: tuple[Candidate, ...]
    vectors: tuple[Vector, ...]
    forget: tuple[RequestSearch, ...] = ()
    turns: tuple[Turn, ...] = ()
    refused: tuple[str, ...] = ()
    node: Node = "hotpath"
    extracted: ExtractionRecord | None = None
    requested_texts: frozenset[str] = frozenset()
    said_at: datetime | None = None
    is_independent: bool = False


def _covers_text(text: str, candidates: Sequence[Candidate]) -> bool:
    """Whether the statements hold what the text says: a person who says remember wants all of it kept."""
    said = tokens.get_lexeme_set(text)
    kept = tokens.get_lexeme_set(" ".join(one.text for one in candidates))
    return len(said - kept) <= len(said) * _MAX_UNCOVERED


def _set_created_at(change: Change, at: datetime) -> Change:
    """The change with a new memory made now, whenever what it says was said: from then on it is kept."""
    return replace(change, after=replace(change.after, created_at=at)) if change.action == "ADD" else change


def _update_vectors(draft: _Draft, merged: MergeResult, vectors: VectorCache) -> MergeResult:
    """The changes with the vector of their own words, where merging has put others in the place of what was said."""
    said = {one.text for one in draft.candidates}
    new = [one for one in merged.changes if one.vector is not None and one.after.text not in said]
    own = dict(zip((one.after.text for one in new), vectors.get_vectors([one.after.text for one in new]), strict=True))
    return replace(
        merged, changes=tuple(replace(one, vector=own.get(one.after.text, one.vector)) for one in merged.changes)
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Writer:
    """The write flow: gate -> redact -> extract -> validate -> embed -> near -> merge -> commit."""

    clock: Clock
    committer: PlanCommitter
    consents: Consents
    embedder: Embedder
    forget_requests: ForgetRequests
    ledger: TurnLedger
    neighbours: NeighbourFinder
    profile: EmbedderProfile
    quotas: Quotas
    redactor: Redactor
    retention: RetentionTerms
    settings: Settings
    turn_jobs: TurnJobs
    write_behind: WriteBehind

    async def learn_turn(self, scope: Scope, turn: Turn) -> Receipt:
        """See `Memory.learn`."""
        if refusal := self.redactor.find_denial_reason(scope, turn):
            return Receipt(rev=Revision(0), skipped=refusal)
        safe = self.sanitize_turn(turn)
        # What is pasted is somebody else's: nothing in it is about the person, and what instructs there waits for a yes.
        own, waiting = quoted.strip_quoted(safe), quoted.find_quoted_instructions(safe)
        own = replace(own, text=requests.strip_keep_request(own.text))  # a wish to keep a path is no statement
        reason = gate.find_skip_reason(own.text, own.role)
        if reason is not None and not waiting:
            await self._track_classification(scope, "skipped")
            return Receipt(rev=Revision(0), skipped=reason)
        found = extract_statements(own) if reason is None else Extraction()
        found = replace(found, candidates=found.candidates + waiting)
        await self._track_classification(scope, "ok" if found.candidates or found.forget_requests else "skipped")
        extracted = ExtractionRecord(turn=safe.id, source="rules", found=len(found.candidates))
        return await self.commit_extraction(scope, found, (safe,), "hotpath", extracted, said_at=safe.at)

    async def remember_text(self, scope: Scope, text: str, category: str | None) -> Receipt:
        """See `Memory.remember`."""
        if category is not None and category not in self.settings.categories:
            raise BadInput(f"unknown category {category!r}; allowed: {', '.join(sorted(self.settings.categories))}")
        at = self.clock.now()
        turn = self.sanitize_turn(
            Turn.make(
                session=scope.session or "remember",
                key=str(uuid4()),
                role="user",
                text=text,
                at=at,
                thread=scope.thread,
                actor=scope.actor,
            ),
        )
        if not turn.text.strip():
            raise BadInput("there is no text to remember")
        found = (
            extract_statements(turn).candidates
            or extract_statements(replace(turn, text=f"Remember that {turn.text}")).candidates
        )
        candidates = (found if _covers_text(turn.text, found) else ()) or (
            Candidate(text=turn.text, category=category or "activity", turns=(turn.id,), importance=3, kind="episodic"),
        )
        if category is not None:
            candidates = tuple(replace(one, category=category) for one in candidates)
        receipt = await self.commit_extraction(scope, Extraction(candidates=candidates), (turn,), "face")
        if receipt.refused and not receipt.changes:
            way = (
                _REPHRASE_ADVICE
                if set(receipt.refused) == {"a secret"}
                else SUMMARY_RULES.format(most=self.settings.limits.memory_chars)
            )
            raise BadInput(f"cannot be remembered as it stands: {'; '.join(receipt.refused)}. {way}")
        return receipt

    async def keep_candidates(
        self,
        scope: Scope,
        candidates: tuple[Candidate, ...],
        turns: tuple[Turn, ...],
        *,
        node: Node,
        said_at: datetime | None = None,
        is_independent: bool = False,
    ) -> Receipt:
        """See `Memory.keep`; `said_at` and `apart` as in `settle`."""
        taken = [turn for turn in turns if self.redactor.find_denial_reason(scope, turn) is None]
        refused = {turn.id for turn in turns} - {turn.id for turn in taken}
        safe = tuple(self.sanitize_turn(turn) for turn in taken)
        cleaned = tuple(
            quoted.hold_instruction(self.sanitize_candidate(one))
            for one in candidates
            if not refused.intersection(one.turns)
        )
        left_out = ("denied turn",) * (len(candidates) - len(cleaned))
        done = await self.commit_extraction(
            scope, Extraction(candidates=cleaned), safe, node, said_at=said_at, is_independent=is_independent
        )
        return replace(done, refused=done.refused + left_out)

    async def record_turns(self, scope: Scope, turns: Sequence[Turn]) -> None:
        """See `Memory.record`."""
        safe = [self.sanitize_turn(turn) for turn in turns if self.redactor.find_denial_reason(scope, turn) is None]
        if safe:
            jobs = (*self.turn_jobs.make_extraction_jobs(scope, safe), *self.turn_jobs.make_procedure_jobs(scope, safe))
            await self.ledger.record_turns(scope, safe, jobs, retention=self.retention.turns)

    def sanitize_turn(self, turn: Turn) -> Turn:
        """A turn as it may be stored: cleaned, secrets taken out. Raises TooLarge."""
        if len(turn.text) > (most := self.settings.limits.turn_chars):
            raise TooLarge(f"the message has {len(turn.text):,} characters, the limit is {most:,} (limits.turn_chars)")
        tags = tuple(self.redactor.sanitize_text(tag) for tag in turn.tags)
        path, actor = (self.redactor.sanitize_text(one) if one else None for one in (turn.path, turn.actor))
        return replace(turn, text=self.redactor.sanitize_text(turn.text), path=path, tags=tags, actor=actor)

    def sanitize_candidate(self, one: Candidate) -> Candidate:
        """A candidate as it may be stored: every text in it cleaned, secrets taken out."""
        fact = one.fact
        if fact is not None:
            fact = replace(
                fact,
                subject=self.redactor.sanitize_text(fact.subject),
                predicate=self.redactor.sanitize_text(fact.predicate),
                object=self.redactor.sanitize_text(fact.object),
                persons=tuple(self.redactor.sanitize_text(name) for name in fact.persons),
                entities=tuple(self.redactor.sanitize_text(name) for name in fact.entities),
                location=self.redactor.sanitize_text(fact.location) if fact.location else None,
                topic=self.redactor.sanitize_text(fact.topic) if fact.topic else None,
            )
        context = self.redactor.sanitize_text(one.context) if one.context else None
        tags = tuple(self.redactor.sanitize_text(tag) for tag in one.tags)
        actor = self.redactor.sanitize_text(one.actor) if one.actor else None
        return replace(
            one, text=self.redactor.sanitize_text(one.text), fact=fact, context=context, tags=tags, actor=actor
        )

    def check_candidate(self, one: Candidate) -> tuple[Candidate | None, str | None]:
        """The candidate, repaired, that can be kept and None, or None and the reason of refusal."""
        if one.fact is not None and one.kind != "semantic":
            return None, "only a semantic memory has a fact"
        if one.fact is not None and len(one.fact.key) > _MAX_KEY_CHARS:
            return None, f"a fact of more than {_MAX_KEY_CHARS} characters"
        if refusal := find_denial(self.settings.redact, tags=one.tags):
            return None, refusal
        settings = self.settings
        most = settings.procedures.chars if one.kind == "procedural" else settings.limits.memory_chars
        return validate_candidate(one, categories=frozenset(self.settings.categories), max_chars=most)

    async def commit_extraction(
        self,
        scope: Scope,
        found: Extraction,
        turns: tuple[Turn, ...],
        node: Node,
        looked: ExtractionRecord | None = None,
        *,
        said_at: datetime | None = None,
        is_independent: bool = False,
    ) -> Receipt:
        """Validate, embed, merge and commit what was found. `turns` are consumed; `looked` says who found it, and where.

        What was said at `said_at`, now if it is not given, corrects only what was said before. Candidates without a fact that have
        nothing to do with each other are kept `apart`: each has its own revision.

        A look of the model is noted also when nothing comes of it, for it is not to be paid for twice."""
        if refusal := self.redactor.find_denial_reason(scope):
            return Receipt(rev=Revision(0), skipped=refusal)
        results = [self.check_candidate(one) for one in found.candidates]
        kept = await self.consents.drop_already_pending(scope, tuple(one for one, _ in results if one is not None))
        refused = tuple(reason for one, reason in results if one is None and reason is not None)
        if looked is not None:
            looked = replace(looked, refused=looked.refused + refused)
        if not kept and not found.forget_requests and (looked is None or looked.source == "rules"):
            return Receipt(rev=Revision(0), refused=refused)
        vectors = await self.embedder.embed_documents([one.text for one in kept]) if kept else []
        draft = _Draft(
            candidates=kept,
            vectors=tuple(vectors),
            forget=await self.forget_requests.find_request_searches(found.forget_requests),
            turns=turns,
            refused=refused,
            node=node,
            extracted=looked,
            said_at=said_at,
            is_independent=is_independent,
            requested_texts=frozenset(
                one.text
                for raw, (one, _) in zip(found.candidates, results, strict=True)
                if one is not None and raw.text in found.requested_texts
            ),
        )
        done = await self.consents.auto_approve(
            scope, await self.committer.commit_with_retry(scope, partial(self._plan_or_skip, scope, draft)), node
        )
        return replace(
            done,
            refused=(looked.refused if looked else refused) + done.refused,
            repaired=looked.repaired if looked else (),
        )

    async def _plan_or_skip(
        self, scope: Scope, draft: _Draft, vectors: VectorCache
    ) -> tuple[WritePlan, Rejections] | Receipt:
        """The plan and what is not in it, or the receipt where there is nothing to write."""
        plan, rejections = await self._build_plan(scope, draft, vectors)
        if plan.changes or plan.proposals or (plan.extracted is not None and plan.extracted.source != "rules"):
            return plan, rejections
        if rejections.refused:  # its words are not lost with it
            await self.ledger.record_turns(scope, draft.turns, retention=self.retention.turns)
        return Receipt(rev=plan.expected_rev, refused=rejections.refused, unmatched_requests=rejections.unmet)

    async def _build_plan(self, scope: Scope, draft: _Draft, vectors: VectorCache) -> tuple[WritePlan, Rejections]:
        """The plan, and why some of what was found is not in it."""
        at = self.clock.now()
        rev, near = await self.neighbours.find_neighbours(scope, draft.candidates, draft.vectors)
        incoming = [
            IncomingCandidate(candidate=one, vector=vector, neighbours=found, id=MemoryId(uuid4()))
            for one, vector, found in zip(draft.candidates, draft.vectors, near, strict=True)
        ]
        said_at = min(at, draft.said_at or at)
        merged = merge_candidates(
            incoming,
            scope=scope,
            at=said_at,
            profile=self.profile,
            writing=self.settings.write,
            keep_separate=draft.is_independent,
        )
        merged = replace(merged, changes=tuple(_set_created_at(one, at) for one in merged.changes))
        write = WriteContext(
            scope=scope,
            node=draft.node,
            rev=rev,
            at=at,
            extracted=draft.extracted,
            requested_texts=draft.requested_texts,
        )
        merged = _update_vectors(draft, await self.quotas.apply_quotas(write, merged), vectors)
        if near:
            await self._track_comparison(
                scope, draft.node, max((one.sim for found in near for one in found), default=None)
            )
        extracted = draft.extracted
        gone, unmet = await self.forget_requests.resolve_requests(scope, draft.forget, merged.changes)
        expires_at = at + timedelta(days=self.settings.consent.days)
        wishes = build_proposals(
            incoming, merged.changes, expires_at=expires_at, turn_id=extracted.turn if extracted else None
        )
        plan = WritePlan(
            scope=scope,
            expected_rev=rev,
            node=draft.node,
            at=at,
            changes=merged.changes + gone,
            relations=merged.relations,
            turns=draft.turns,
            extracted=replace(extracted, refused=extracted.refused + merged.refused) if extracted else None,
            proposals=wishes,
            jobs=consent.make_expiry_jobs(scope, [one.expires_at for one in wishes]),
        )
        return plan, Rejections(
            refused=merged.refused, unmet=await self.forget_requests.explain_unmet(scope, unmet, draft.turns)
        )

    async def _track_comparison(self, scope: Scope, node: Node, best: float | None) -> None:
        status: Status = "skipped" if best is None else "ok"
        sim = None if best is None else round(best, 4)
        await self.write_behind.track_event(
            scope,
            OpsEvent(node=node, op="search", status=status, sim=sim, ts=self.clock.now(), thread_id=scope.thread),
        )

    async def _track_classification(self, scope: Scope, status: Status) -> None:
        await self.write_behind.track_event(
            scope, OpsEvent(node="hotpath", op="classify", status=status, ts=self.clock.now(), thread_id=scope.thread)
        )
