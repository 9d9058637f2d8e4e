"""Merging: a candidate meets what is known and becomes an addition, a merge, a correction, or nothing.

Bands on cosine come from the embedder's profile. A cosine alone never merges: `auto` has guards, the rest is decided by
subject, attribute, negation and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from muniment.memory.plan import Change, Relation
from muniment.memory.records import (
    TRUST_RANK,
    Action,
    Band,
    Candidate,
    Memory,
    MemoryId,
    Neighbour,
    Scope,
    TurnId,
    Vector,
    evolve,
)
from muniment.memory.rules import words
from muniment.memory.sections import Profile, Writing

Verdict = Literal["same", "supersedes", "different"]
_NEGATIONS = frozenset({"not", "no", "never", "n't", "stopped", "longer", "anymore", "quit", "cannot"})
_CJK_NEGATIONS = ("不", "没", "别", "無", "无", "戒")
_WITHOUT_CJK_NEGATIONS = str.maketrans("", "", "".join(_CJK_NEGATIONS))
_SAME_WORDS = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A candidate with its vector, its neighbours, and the id it gets if it is new."""

    candidate: Candidate
    vector: Vector
    near: tuple[Neighbour, ...]
    id: MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What the candidates come to: changes in order, and edges between memories that are alike."""

    changes: tuple[Change, ...]
    relations: tuple[Relation, ...]


def merge(incoming: Sequence[Incoming], *, scope: Scope, at: datetime, profile: Profile, writing: Writing) -> Merged:
    """Decide every candidate in order; a later one sees what the earlier ones of the same write came to."""
    changes: dict[MemoryId, Change] = {}
    relations: dict[tuple[MemoryId, MemoryId], Relation] = {}
    for one in incoming:
        near = _current(one, changes)
        change = _decide(one, near, scope, at, profile, writing)
        if change is not None:
            earlier = changes.get(change.after.id)
            changes[change.after.id] = (
                change if earlier is None else evolve(change, action=earlier.action, before=earlier.before)
            )
            for edge in _edges(change.after.id, near, writing.link_min):
                relations[edge.a, edge.b] = edge
    return Merged(changes=tuple(changes.values()), relations=tuple(relations.values()))


def _edges(target: MemoryId, near: Sequence[Neighbour], link_min: float) -> Iterator[Relation]:
    for one in near:
        if one.sim >= link_min and one.memory.id != target:
            pair = min(target, one.memory.id), max(target, one.memory.id)
            yield Relation(a=pair[0], b=pair[1], strength=min(1.0, round(one.sim, 4)))


def band_of(sim: float, profile: Profile) -> Band:
    """The band that a similarity falls in."""
    if sim >= profile.auto:
        return "auto"
    if sim >= profile.check:
        return "check"
    return "fallback" if sim >= profile.fallback else "new"


def judge(candidate: Candidate, memory: Memory) -> Verdict:
    """Whether a candidate says the same as a memory, corrects it, or speaks of something else."""
    new, old = candidate.fact, memory.fact
    if (new is None) != (old is None):
        return "same" if _plain(candidate.text) == _plain(memory.text) else "different"
    if new is not None and old is not None:
        if new.attribute != old.attribute:
            return "different"
        same_object = set(words.lexemes(new.object)) == set(words.lexemes(old.object))
        if new.single and old.single:
            return "same" if same_object and new.negated == old.negated else "supersedes"
        if not same_object:
            return "different"
        return "same" if new.negated == old.negated else "supersedes"
    return _judge_words(candidate.text, memory.text)


def _judge_words(new: str, old: str) -> Verdict:
    if _plain(new) == _plain(old):
        return "same"
    left, right = words.numbers(new), words.numbers(old)
    a, b = (set(words.lexemes(_affirmed(text))) - numbers for text, numbers in ((new, left), (old, right)))
    if not a or len(a & b) / len(a | b) < _SAME_WORDS:
        return "different"
    if negated(new) != negated(old) or (left != right and len(left) == len(right) == 1 and a == b):
        return "supersedes"
    return "same" if left == right else "different"


def _decide(
    one: Incoming,
    near: Sequence[Neighbour],
    scope: Scope,
    at: datetime,
    profile: Profile,
    writing: Writing,
) -> Change | None:
    candidate = one.candidate
    stale = at - timedelta(days=writing.fallback_days)
    fallbacks = 0
    for neighbour in near:
        memory, sim = neighbour.memory, _similarity(candidate, neighbour, profile)
        kin = (
            candidate.fact is not None and memory.fact is not None and candidate.fact.attribute == memory.fact.attribute
        )
        band: Band = "auto" if kin and sim >= 1 else band_of(sim, profile)
        if not kin:
            if band == "new" or memory.category != candidate.category or _another_time(candidate, memory):
                continue
            if band == "fallback":
                fallbacks += 1
                if fallbacks > writing.fallback_neighbours or memory.updated_at < stale:
                    continue
        verdict = judge(candidate, memory)
        if verdict == "different" and band == "auto" and not kin and _unguarded(candidate, memory):
            verdict = "same"
        if verdict != "different":
            return _meet(one, memory, verdict, band, sim, at)
    best = max((neighbour.sim for neighbour in near), default=None)
    return Change(
        action="ADD",
        after=fresh(candidate, one.id, scope, at),
        vector=one.vector,
        band="new",
        sim=round(best, 4) if best is not None else None,
    )


def _meet(one: Incoming, memory: Memory, verdict: Verdict, band: Band, sim: float, at: datetime) -> Change | None:
    """The change to a known memory; None when it says nothing that is not known."""
    candidate = one.candidate
    if TRUST_RANK[candidate.trust] < TRUST_RANK[memory.trust]:
        return None
    new, old = set(words.lexemes(candidate.text)), set(words.lexemes(memory.text))
    if verdict == "same" and new <= old and candidate.event_time in (None, memory.event_time):
        return None
    action: Action = "UPDATE" if verdict == "supersedes" else "MERGE"
    meta = {"why": verdict} | ({"notes": 2} if verdict == "same" else {})
    # The newer words win also where they say less: a correction is never lost for being shorter.
    after = evolve(
        memory,
        text=candidate.text,
        fact=candidate.fact or memory.fact,
        stable_key=candidate.fact.key if candidate.fact else memory.stable_key,
        importance=max(candidate.importance, memory.importance),
        confidence=candidate.confidence,
        trust=candidate.trust,
        pinned=memory.pinned or candidate.pinned,
        event_time=candidate.event_time or memory.event_time,
        updated_at=at,
        context=candidate.context or memory.context,
        turns=_union(memory.turns, candidate.turns),
        tags=tuple(dict.fromkeys(memory.tags + candidate.tags)),
    )
    return Change(
        action=action, after=after, before=memory, vector=one.vector, band=band, sim=round(min(sim, 1.0), 4), meta=meta
    )


def fresh(candidate: Candidate, id_: MemoryId, scope: Scope, at: datetime) -> Memory:
    """A candidate as a new memory."""
    return Memory(
        id=id_,
        kind=candidate.kind,
        category=candidate.category,
        text=candidate.text,
        fact=candidate.fact,
        stable_key=candidate.fact.key if candidate.fact else None,
        importance=candidate.importance,
        confidence=candidate.confidence,
        trust=candidate.trust,
        pinned=candidate.pinned,
        tags=candidate.tags,
        agent_id=scope.agent,
        run_id=scope.run,
        actor_id=candidate.actor or scope.actor,
        role=candidate.role,
        session_id=scope.session,
        thread_id=scope.thread,
        event_time=candidate.event_time,
        created_at=at,
        updated_at=at,
        context=candidate.context,
        turns=candidate.turns,
    )


def _current(one: Incoming, changes: dict[MemoryId, Change]) -> list[Neighbour]:
    """The neighbours as this write leaves them, with what it added, closest first."""
    near = {item.memory.id: item for item in one.near}
    for id_, change in changes.items():
        known = near.get(id_)
        key = one.candidate.fact.key if one.candidate.fact else None
        sim = (
            1.0
            if key and change.after.stable_key == key
            else (float(one.vector @ change.vector) if change.vector is not None else 0.0)
        )
        if change.after.kind == one.candidate.kind:
            near[id_] = Neighbour(memory=change.after, sim=max(sim, known.sim if known else 0.0))
    return sorted(near.values(), key=lambda item: -item.sim)


def _similarity(candidate: Candidate, neighbour: Neighbour, profile: Profile) -> float:
    """The cosine, or the share of common words where the embedder does not know the script."""
    if "cjk" in profile.scripts or neighbour.sim >= 1 or not words.has_cjk(candidate.text + neighbour.memory.text):
        return neighbour.sim
    return words.overlap(candidate.text, neighbour.memory.text)


def _unguarded(candidate: Candidate, memory: Memory) -> bool:
    """No guard stands between two texts that are nearly the same: subject, names, numbers and negation agree."""
    new, old = candidate.fact, memory.fact
    if new is not None or old is not None:
        return False
    return (
        words.numbers(candidate.text) == words.numbers(memory.text)
        and negated(candidate.text) == negated(memory.text)
        and _names(candidate.text) == _names(memory.text)
        and words.overlap(candidate.text, memory.text) >= _SAME_WORDS / 2
    )


def _another_time(candidate: Candidate, memory: Memory) -> bool:
    """What happened at two times happened twice, in whatever words."""
    new, old = candidate.event_time, memory.event_time
    return candidate.kind == "episodic" and new is not None and old is not None and new != old


def _names(text: str) -> frozenset[str]:
    return frozenset(word.strip(".,;:!?\"'()") for word in text.split()[1:] if word[:1].isupper())


def negated(text: str) -> bool:
    """Whether the text denies something."""
    folded = words.fold(text).replace("n't", " n't ").replace("’", "'")
    return any(word.strip(".,;:!?") in _NEGATIONS for word in folded.split()) or any(
        c in folded for c in _CJK_NEGATIONS
    )


def _affirmed(text: str) -> str:
    """The text without its negations, so that a statement and its denial have the same words."""
    plain = " ".join(word for word in text.split() if word.casefold() not in _NEGATIONS)
    return plain.translate(_WITHOUT_CJK_NEGATIONS)


def _plain(text: str) -> str:
    return " ".join(words.fold(text).split()).rstrip(".。")


def _union(a: tuple[TurnId, ...], b: tuple[TurnId, ...]) -> tuple[TurnId, ...]:
    return tuple(dict.fromkeys(a + b))
