"""The write flow: gate -> redact -> extract -> validate -> embed -> near -> merge -> commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from uuid import uuid4

from muniment.memory.domain.ids import MemoryId, Revision, Vector
from muniment.memory.domain.journal import Node
from muniment.memory.domain.plan import Change, Extracted, Receipt, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Extraction, Turn
from muniment.memory.domain.usage import OpsEvent, Status
from muniment.memory.errors import BadInput, TooLarge
from muniment.memory.flows.house import House, safe_text, unwanted
from muniment.memory.flows.writing import consent
from muniment.memory.flows.writing.background_jobs import extractions, later
from muniment.memory.flows.writing.forget import Sought, granted, sought, told
from muniment.memory.flows.writing.neighbours import met
from muniment.memory.flows.writing.quotas import Write, capped
from muniment.memory.flows.writing.transaction import Aside, Vectors, committed
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.extraction.extract import extract
from muniment.memory.rules.extraction.validate import GUARD, validate
from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.merging.merge import Incoming, Merged, merge
from muniment.memory.rules.policy.consent import proposals
from muniment.memory.rules.procedures import requests as procedure_words
from muniment.memory.rules.provenance import quoted as suspect
from muniment.memory.rules.redaction.denylist import denied

_UNSAID = 1 / 3
_SAID_WITHOUT = "Say it without the secret: nothing of it was kept."
_KEY_CHARS = 500  # of a stable key; an entry of Postgres's index holds 2,704 bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """What is to be kept, embedded and validated, before it meets the space."""

    candidates: tuple[Candidate, ...]
    vectors: tuple[Vector, ...]
    forget: tuple[Sought, ...] = ()
    turns: tuple[Turn, ...] = ()
    refused: tuple[str, ...] = ()
    node: Node = "hotpath"
    extracted: Extracted | None = None
    asked: frozenset[str] = frozenset()
    said_at: datetime | None = None
    apart: bool = False


async def learn(house: House, scope: Scope, turn: Turn) -> Receipt:
    """See `Memory.learn`."""
    if refusal := unwanted(house, scope, turn):
        return Receipt(rev=Revision(0), skipped=refusal)
    safe = tidy(house, turn)
    # What is pasted is somebody else's: nothing in it is about the person, and what instructs there waits for a yes.
    own, waiting = suspect.own(safe), suspect.waiting(safe)
    own = replace(own, text=procedure_words.rest(own.text))  # a wish to keep a path is no statement
    reason = gate.skip(own.text, own.role)
    if reason is not None and not waiting:
        await _classified(house, scope, "skipped")
        return Receipt(rev=Revision(0), skipped=reason)
    found = extract(own) if reason is None else Extraction()
    found = replace(found, candidates=found.candidates + waiting)
    await _classified(house, scope, "ok" if found.candidates or found.forget else "skipped")
    looked = Extracted(turn=safe.id, source="rules", found=len(found.candidates))
    return await settle(house, scope, found, (safe,), "hotpath", looked, said_at=safe.at)


async def remember(house: House, scope: Scope, text: str, category: str | None) -> Receipt:
    """See `Memory.remember`."""
    if category is not None and category not in house.categories:
        raise BadInput(f"unknown category {category!r}; allowed: {', '.join(sorted(house.categories))}")
    at = house.clock.now()
    turn = tidy(
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
    found = extract(turn).candidates or extract(replace(turn, text=f"Remember that {turn.text}")).candidates
    candidates = (found if _covered(turn.text, found) else ()) or (
        Candidate(text=turn.text, category=category or "activity", turns=(turn.id,), importance=3, kind="episodic"),
    )
    if category is not None:
        candidates = tuple(replace(one, category=category) for one in candidates)
    receipt = await settle(house, scope, Extraction(candidates=candidates), (turn,), "face")
    if receipt.refused and not receipt.changes:
        way = (
            _SAID_WITHOUT
            if set(receipt.refused) == {"a secret"}
            else GUARD.format(most=house.settings.limits.memory_chars)
        )
        raise BadInput(f"cannot be remembered as it stands: {'; '.join(receipt.refused)}. {way}")
    return receipt


def _covered(text: str, candidates: Sequence[Candidate]) -> bool:
    """Whether the statements hold what the text says: a person who says remember wants all of it kept."""
    said = words.lexeme_set(text)
    kept = words.lexeme_set(" ".join(one.text for one in candidates))
    return len(said - kept) <= len(said) * _UNSAID


async def keep(
    house: House,
    scope: Scope,
    candidates: tuple[Candidate, ...],
    turns: tuple[Turn, ...],
    *,
    node: Node,
    said_at: datetime | None = None,
    apart: bool = False,
) -> Receipt:
    """See `Memory.keep`; `said_at` and `apart` as in `settle`."""
    taken = [turn for turn in turns if unwanted(house, scope, turn) is None]
    refused = {turn.id for turn in turns} - {turn.id for turn in taken}
    safe = tuple(tidy(house, turn) for turn in taken)
    cleaned = tuple(
        suspect.cautious(safe_candidate(house, one)) for one in candidates if not refused.intersection(one.turns)
    )
    left_out = ("denied turn",) * (len(candidates) - len(cleaned))
    done = await settle(house, scope, Extraction(candidates=cleaned), safe, node, said_at=said_at, apart=apart)
    return replace(done, refused=done.refused + left_out)


async def record(house: House, scope: Scope, turns: Sequence[Turn]) -> None:
    """See `Memory.record`."""
    safe = [tidy(house, turn) for turn in turns if unwanted(house, scope, turn) is None]
    if safe:
        jobs = (*extractions(house, scope, safe), *later(house, scope, safe))
        await house.store.record(scope, safe, jobs, keep=house.terms.turns)


def tidy(house: House, turn: Turn) -> Turn:
    """A turn as it may be stored: cleaned, secrets taken out. Raises TooLarge."""
    if len(turn.text) > (most := house.settings.limits.turn_chars):
        raise TooLarge(f"the message has {len(turn.text):,} characters, the limit is {most:,} (limits.turn_chars)")
    tags = tuple(safe_text(house, tag) for tag in turn.tags)
    path, actor = (safe_text(house, one) if one else None for one in (turn.path, turn.actor))
    return replace(turn, text=safe_text(house, turn.text), path=path, tags=tags, actor=actor)


def safe_candidate(house: House, one: Candidate) -> Candidate:
    """A candidate as it may be stored: every text in it cleaned, secrets taken out."""
    fact = one.fact
    if fact is not None:
        fact = replace(
            fact,
            subject=safe_text(house, fact.subject),
            predicate=safe_text(house, fact.predicate),
            object=safe_text(house, fact.object),
            persons=tuple(safe_text(house, name) for name in fact.persons),
            entities=tuple(safe_text(house, name) for name in fact.entities),
            location=safe_text(house, fact.location) if fact.location else None,
            topic=safe_text(house, fact.topic) if fact.topic else None,
        )
    context = safe_text(house, one.context) if one.context else None
    tags = tuple(safe_text(house, tag) for tag in one.tags)
    actor = safe_text(house, one.actor) if one.actor else None
    return replace(one, text=safe_text(house, one.text), fact=fact, context=context, tags=tags, actor=actor)


def checked(house: House, one: Candidate) -> tuple[Candidate | None, str | None]:
    """The candidate, repaired, that can be kept and None, or None and the reason of refusal."""
    if one.fact is not None and one.kind != "semantic":
        return None, "only a semantic memory has a fact"
    if one.fact is not None and len(one.fact.key) > _KEY_CHARS:
        return None, f"a fact of more than {_KEY_CHARS} characters"
    if refusal := denied(house.settings.redact, tags=one.tags):
        return None, refusal
    settings = house.settings
    most = settings.procedures.chars if one.kind == "procedural" else settings.limits.memory_chars
    return validate(one, categories=frozenset(house.categories), max_chars=most)


async def settle(
    house: House,
    scope: Scope,
    found: Extraction,
    turns: tuple[Turn, ...],
    node: Node,
    looked: Extracted | None = None,
    *,
    said_at: datetime | None = None,
    apart: bool = False,
) -> Receipt:
    """Validate, embed, merge and commit what was found. `turns` are consumed; `looked` says who found it, and where.

    What was said at `said_at`, now if it is not given, corrects only what was said before. Candidates without a fact that have
    nothing to do with each other are kept `apart`: each has its own revision.

    A look of the model is noted also when nothing comes of it, for it is not to be paid for twice."""
    if refusal := unwanted(house, scope):
        return Receipt(rev=Revision(0), skipped=refusal)
    results = [checked(house, one) for one in found.candidates]
    kept = await consent.unheard(house, scope, tuple(one for one, _ in results if one is not None))
    refused = tuple(reason for one, reason in results if one is None and reason is not None)
    if looked is not None:
        looked = replace(looked, refused=looked.refused + refused)
    if not kept and not found.forget and (looked is None or looked.source == "rules"):
        return Receipt(rev=Revision(0), refused=refused)
    vectors = await house.embedder.documents([one.text for one in kept]) if kept else []
    draft = _Draft(
        candidates=kept,
        vectors=tuple(vectors),
        forget=await sought(house, found.forget),
        turns=turns,
        refused=refused,
        node=node,
        extracted=looked,
        said_at=said_at,
        apart=apart,
        asked=frozenset(
            one.text
            for raw, (one, _) in zip(found.candidates, results, strict=True)
            if one is not None and raw.text in found.asked
        ),
    )
    done = await consent.corroborate(
        house, scope, await committed(house, scope, partial(_meet, house, scope, draft)), node
    )
    return replace(
        done, refused=(looked.refused if looked else refused) + done.refused, repaired=looked.repaired if looked else ()
    )


async def _meet(house: House, scope: Scope, draft: _Draft, read: Vectors) -> tuple[WritePlan, Aside] | Receipt:
    """The plan and what is not in it, or the receipt where there is nothing to write."""
    plan, aside = await _plan(house, scope, draft, read)
    if plan.changes or plan.proposals or (plan.extracted is not None and plan.extracted.source != "rules"):
        return plan, aside
    if aside.refused:  # its words are not lost with it
        await house.store.record(scope, draft.turns, keep=house.terms.turns)
    return Receipt(rev=plan.expects, refused=aside.refused, unmet=aside.unmet)


async def _plan(house: House, scope: Scope, draft: _Draft, read: Vectors) -> tuple[WritePlan, Aside]:
    """The plan, and why some of what was found is not in it."""
    at = house.clock.now()
    rev, near = await met(house, scope, draft.candidates, draft.vectors)
    incoming = [
        Incoming(candidate=one, vector=vector, near=found, id=MemoryId(uuid4()))
        for one, vector, found in zip(draft.candidates, draft.vectors, near, strict=True)
    ]
    said_at = min(at, draft.said_at or at)
    merged = merge(
        incoming,
        scope=scope,
        at=said_at,
        profile=house.profile,
        writing=house.settings.write,
        apart=draft.apart,
    )
    merged = replace(merged, changes=tuple(_made(one, at) for one in merged.changes))
    write = Write(scope=scope, node=draft.node, rev=rev, at=at, looked=draft.extracted, asked=draft.asked)
    merged = _reread(draft, await capped(house, write, merged), read)
    if near:
        await _compared(house, scope, draft.node, max((one.sim for found in near for one in found), default=None))
    looked = draft.extracted
    gone, unmet = await granted(house, scope, draft.forget, merged.changes)
    expires_at = at + timedelta(days=house.settings.consent.days)
    wishes = proposals(incoming, merged.changes, expires_at=expires_at, said=looked.turn if looked else None)
    plan = WritePlan(
        scope=scope,
        expects=rev,
        node=draft.node,
        at=at,
        changes=merged.changes + gone,
        relations=merged.relations,
        turns=draft.turns,
        extracted=replace(looked, refused=looked.refused + merged.refused) if looked else None,
        proposals=wishes,
        jobs=consent.reminders(scope, [one.expires_at for one in wishes]),
    )
    return plan, Aside(refused=merged.refused, unmet=await told(house, scope, unmet, draft.turns))


def _made(change: Change, at: datetime) -> Change:
    """The change with a new memory made now, whenever what it says was said: from then on it is kept."""
    return replace(change, after=replace(change.after, created_at=at)) if change.action == "ADD" else change


def _reread(draft: _Draft, merged: Merged, read: Vectors) -> Merged:
    """The changes with the vector of their own words, where merging has put others in the place of what was said."""
    said = {one.text for one in draft.candidates}
    new = [one for one in merged.changes if one.vector is not None and one.after.text not in said]
    own = dict(zip((one.after.text for one in new), read.of([one.after.text for one in new]), strict=True))
    return replace(
        merged, changes=tuple(replace(one, vector=own.get(one.after.text, one.vector)) for one in merged.changes)
    )


async def _compared(house: House, scope: Scope, node: Node, best: float | None) -> None:
    status: Status = "skipped" if best is None else "ok"
    sim = None if best is None else round(best, 4)
    await house.track(
        scope,
        OpsEvent(node=node, op="search", status=status, sim=sim, ts=house.clock.now(), thread_id=scope.thread),
    )


async def _classified(house: House, scope: Scope, status: Status) -> None:
    await house.track(
        scope, OpsEvent(node="hotpath", op="classify", status=status, ts=house.clock.now(), thread_id=scope.thread)
    )
