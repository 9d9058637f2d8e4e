"""The write flow: gate -> redact -> extract -> validate -> embed -> near -> merge -> commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from uuid import uuid4

from muniment.memory.domain.ids import MemoryId, Revision, Vector
from muniment.memory.domain.journal import Node
from muniment.memory.domain.plan import Change, ExtractionRecord, Receipt, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Extraction, Turn
from muniment.memory.domain.usage import OpsEvent, Status
from muniment.memory.errors import BadInput, TooLarge
from muniment.memory.flows.house import House, find_denial_reason, sanitize_text
from muniment.memory.flows.writing import consent
from muniment.memory.flows.writing.background_jobs import make_extraction_jobs, make_procedure_jobs
from muniment.memory.flows.writing.forget_requests import (
    RequestSearch,
    explain_unmet,
    find_request_searches,
    resolve_requests,
)
from muniment.memory.flows.writing.neighbours import find_neighbours
from muniment.memory.flows.writing.quotas import WriteContext, apply_quotas
from muniment.memory.flows.writing.transaction import Rejections, VectorCache, commit_with_retry
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


async def learn_turn(house: House, scope: Scope, turn: Turn) -> Receipt:
    """See `Memory.learn`."""
    if refusal := find_denial_reason(house, scope, turn):
        return Receipt(rev=Revision(0), skipped=refusal)
    safe = sanitize_turn(house, turn)
    # What is pasted is somebody else's: nothing in it is about the person, and what instructs there waits for a yes.
    own, waiting = quoted.strip_quoted(safe), quoted.find_quoted_instructions(safe)
    own = replace(own, text=requests.strip_keep_request(own.text))  # a wish to keep a path is no statement
    reason = gate.find_skip_reason(own.text, own.role)
    if reason is not None and not waiting:
        await _track_classification(house, scope, "skipped")
        return Receipt(rev=Revision(0), skipped=reason)
    found = extract_statements(own) if reason is None else Extraction()
    found = replace(found, candidates=found.candidates + waiting)
    await _track_classification(house, scope, "ok" if found.candidates or found.forget_requests else "skipped")
    extracted = ExtractionRecord(turn=safe.id, source="rules", found=len(found.candidates))
    return await commit_extraction(house, scope, found, (safe,), "hotpath", extracted, said_at=safe.at)


async def remember_text(house: House, scope: Scope, text: str, category: str | None) -> Receipt:
    """See `Memory.remember`."""
    if category is not None and category not in house.categories:
        raise BadInput(f"unknown category {category!r}; allowed: {', '.join(sorted(house.categories))}")
    at = house.clock.now()
    turn = sanitize_turn(
        house,
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
    receipt = await commit_extraction(house, scope, Extraction(candidates=candidates), (turn,), "face")
    if receipt.refused and not receipt.changes:
        way = (
            _REPHRASE_ADVICE
            if set(receipt.refused) == {"a secret"}
            else SUMMARY_RULES.format(most=house.settings.limits.memory_chars)
        )
        raise BadInput(f"cannot be remembered as it stands: {'; '.join(receipt.refused)}. {way}")
    return receipt


def _covers_text(text: str, candidates: Sequence[Candidate]) -> bool:
    """Whether the statements hold what the text says: a person who says remember wants all of it kept."""
    said = tokens.get_lexeme_set(text)
    kept = tokens.get_lexeme_set(" ".join(one.text for one in candidates))
    return len(said - kept) <= len(said) * _MAX_UNCOVERED


async def keep_candidates(
    house: House,
    scope: Scope,
    candidates: tuple[Candidate, ...],
    turns: tuple[Turn, ...],
    *,
    node: Node,
    said_at: datetime | None = None,
    is_independent: bool = False,
) -> Receipt:
    """See `Memory.keep`; `said_at` and `apart` as in `settle`."""
    taken = [turn for turn in turns if find_denial_reason(house, scope, turn) is None]
    refused = {turn.id for turn in turns} - {turn.id for turn in taken}
    safe = tuple(sanitize_turn(house, turn) for turn in taken)
    cleaned = tuple(
        quoted.hold_instruction(sanitize_candidate(house, one))
        for one in candidates
        if not refused.intersection(one.turns)
    )
    left_out = ("denied turn",) * (len(candidates) - len(cleaned))
    done = await commit_extraction(
        house, scope, Extraction(candidates=cleaned), safe, node, said_at=said_at, is_independent=is_independent
    )
    return replace(done, refused=done.refused + left_out)


async def record_turns(house: House, scope: Scope, turns: Sequence[Turn]) -> None:
    """See `Memory.record`."""
    safe = [sanitize_turn(house, turn) for turn in turns if find_denial_reason(house, scope, turn) is None]
    if safe:
        jobs = (*make_extraction_jobs(house, scope, safe), *make_procedure_jobs(house, scope, safe))
        await house.store.record_turns(scope, safe, jobs, retention=house.retention.turns)


def sanitize_turn(house: House, turn: Turn) -> Turn:
    """A turn as it may be stored: cleaned, secrets taken out. Raises TooLarge."""
    if len(turn.text) > (most := house.settings.limits.turn_chars):
        raise TooLarge(f"the message has {len(turn.text):,} characters, the limit is {most:,} (limits.turn_chars)")
    tags = tuple(sanitize_text(house, tag) for tag in turn.tags)
    path, actor = (sanitize_text(house, one) if one else None for one in (turn.path, turn.actor))
    return replace(turn, text=sanitize_text(house, turn.text), path=path, tags=tags, actor=actor)


def sanitize_candidate(house: House, one: Candidate) -> Candidate:
    """A candidate as it may be stored: every text in it cleaned, secrets taken out."""
    fact = one.fact
    if fact is not None:
        fact = replace(
            fact,
            subject=sanitize_text(house, fact.subject),
            predicate=sanitize_text(house, fact.predicate),
            object=sanitize_text(house, fact.object),
            persons=tuple(sanitize_text(house, name) for name in fact.persons),
            entities=tuple(sanitize_text(house, name) for name in fact.entities),
            location=sanitize_text(house, fact.location) if fact.location else None,
            topic=sanitize_text(house, fact.topic) if fact.topic else None,
        )
    context = sanitize_text(house, one.context) if one.context else None
    tags = tuple(sanitize_text(house, tag) for tag in one.tags)
    actor = sanitize_text(house, one.actor) if one.actor else None
    return replace(one, text=sanitize_text(house, one.text), fact=fact, context=context, tags=tags, actor=actor)


def check_candidate(house: House, one: Candidate) -> tuple[Candidate | None, str | None]:
    """The candidate, repaired, that can be kept and None, or None and the reason of refusal."""
    if one.fact is not None and one.kind != "semantic":
        return None, "only a semantic memory has a fact"
    if one.fact is not None and len(one.fact.key) > _MAX_KEY_CHARS:
        return None, f"a fact of more than {_MAX_KEY_CHARS} characters"
    if refusal := find_denial(house.settings.redact, tags=one.tags):
        return None, refusal
    settings = house.settings
    most = settings.procedures.chars if one.kind == "procedural" else settings.limits.memory_chars
    return validate_candidate(one, categories=frozenset(house.categories), max_chars=most)


async def commit_extraction(
    house: House,
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
    if refusal := find_denial_reason(house, scope):
        return Receipt(rev=Revision(0), skipped=refusal)
    results = [check_candidate(house, one) for one in found.candidates]
    kept = await consent.drop_already_pending(house, scope, tuple(one for one, _ in results if one is not None))
    refused = tuple(reason for one, reason in results if one is None and reason is not None)
    if looked is not None:
        looked = replace(looked, refused=looked.refused + refused)
    if not kept and not found.forget_requests and (looked is None or looked.source == "rules"):
        return Receipt(rev=Revision(0), refused=refused)
    vectors = await house.embedder.embed_documents([one.text for one in kept]) if kept else []
    draft = _Draft(
        candidates=kept,
        vectors=tuple(vectors),
        forget=await find_request_searches(house, found.forget_requests),
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
    done = await consent.auto_approve(
        house, scope, await commit_with_retry(house, scope, partial(_plan_or_skip, house, scope, draft)), node
    )
    return replace(
        done, refused=(looked.refused if looked else refused) + done.refused, repaired=looked.repaired if looked else ()
    )


async def _plan_or_skip(
    house: House, scope: Scope, draft: _Draft, vectors: VectorCache
) -> tuple[WritePlan, Rejections] | Receipt:
    """The plan and what is not in it, or the receipt where there is nothing to write."""
    plan, rejections = await _build_plan(house, scope, draft, vectors)
    if plan.changes or plan.proposals or (plan.extracted is not None and plan.extracted.source != "rules"):
        return plan, rejections
    if rejections.refused:  # its words are not lost with it
        await house.store.record_turns(scope, draft.turns, retention=house.retention.turns)
    return Receipt(rev=plan.expected_rev, refused=rejections.refused, unmatched_requests=rejections.unmet)


async def _build_plan(house: House, scope: Scope, draft: _Draft, vectors: VectorCache) -> tuple[WritePlan, Rejections]:
    """The plan, and why some of what was found is not in it."""
    at = house.clock.now()
    rev, near = await find_neighbours(house, scope, draft.candidates, draft.vectors)
    incoming = [
        IncomingCandidate(candidate=one, vector=vector, neighbours=found, id=MemoryId(uuid4()))
        for one, vector, found in zip(draft.candidates, draft.vectors, near, strict=True)
    ]
    said_at = min(at, draft.said_at or at)
    merged = merge_candidates(
        incoming,
        scope=scope,
        at=said_at,
        profile=house.profile,
        writing=house.settings.write,
        keep_separate=draft.is_independent,
    )
    merged = replace(merged, changes=tuple(_set_created_at(one, at) for one in merged.changes))
    write = WriteContext(
        scope=scope, node=draft.node, rev=rev, at=at, extracted=draft.extracted, requested_texts=draft.requested_texts
    )
    merged = _update_vectors(draft, await apply_quotas(house, write, merged), vectors)
    if near:
        await _track_comparison(
            house, scope, draft.node, max((one.sim for found in near for one in found), default=None)
        )
    extracted = draft.extracted
    gone, unmet = await resolve_requests(house, scope, draft.forget, merged.changes)
    expires_at = at + timedelta(days=house.settings.consent.days)
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
    return plan, Rejections(refused=merged.refused, unmet=await explain_unmet(house, scope, unmet, draft.turns))


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


async def _track_comparison(house: House, scope: Scope, node: Node, best: float | None) -> None:
    status: Status = "skipped" if best is None else "ok"
    sim = None if best is None else round(best, 4)
    await house.track_event(
        scope,
        OpsEvent(node=node, op="search", status=status, sim=sim, ts=house.clock.now(), thread_id=scope.thread),
    )


async def _track_classification(house: House, scope: Scope, status: Status) -> None:
    await house.track_event(
        scope, OpsEvent(node="hotpath", op="classify", status=status, ts=house.clock.now(), thread_id=scope.thread)
    )
