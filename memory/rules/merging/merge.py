"""Merging: a candidate meets what is known and becomes an addition, a merge, a correction, or nothing.

Bands on cosine come from the embedder's profile. A cosine alone never merges: the judge decides, and where the embedder
is sure (`auto`) it may still only call the same what no guard holds apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from muniment.memory.config.schema import EmbedderProfile, WritingSettings
from muniment.memory.domain.ids import MemoryId, TurnId, Vector
from muniment.memory.domain.journal import Action, Band
from muniment.memory.domain.memory import TRUST_RANK, Fact, Memory, Neighbour
from muniment.memory.domain.plan import Change, Relation
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.language import tokens
from muniment.memory.rules.merging.judge import (
    has_ended,
    has_same_subject,
    is_denied,
    is_food_reversal,
    judge_candidate,
    resolve_attribute,
)
from muniment.memory.rules.merging.wording import Verdict, is_guarded
from muniment.memory.rules.statements import predicates
from muniment.memory.rules.statements.parse import ParsedStatement, parse_statement
from muniment.memory.rules.statements.possession import find_user_names, replace_user_names

OUTDATED = "said before what is known now"
LESS_TRUSTED = "contradicts what a more trusted source said"
_FREE = ("preference", "goal")  # kinds whose predicates say more of the wording than of the fact
_REPETITION_SHARE = 0.6  # share of the shorter statement's words that two statements of one turn have in common
# Share of common words that stands for a cosine where the embedder does not know the script, on the bands' edges.
_WORD_OVERLAP_BANDS = EmbedderProfile(
    auto=0.9, check=0.5, fallback=0.3, floor=0.0, ceiling=1.0, scripts=("latin", "cjk")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingCandidate:
    """A candidate with its vector, its neighbours, and the id it gets if it is new."""

    candidate: Candidate
    vector: Vector
    neighbours: tuple[Neighbour, ...]
    id: MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """What the candidates come to: changes in order, edges between memories that are alike, and reasons of refusal."""

    changes: tuple[Change, ...]
    relations: tuple[Relation, ...]
    refused: tuple[str, ...] = ()


def merge_candidates(
    incoming: Sequence[IncomingCandidate],
    *,
    scope: Scope,
    at: datetime,
    profile: EmbedderProfile,
    writing: WritingSettings,
    keep_separate: bool = False,
) -> MergeResult:
    """Decide every candidate in order; a later one sees what the earlier ones of the same write came to: one change of each
    memory, or with `apart` as many as if each were a write by itself. A pending candidate touches nothing that is active: it
    waits beside it, once."""
    changes: dict[MemoryId, Change] = {}
    every: list[Change] = []
    relations: dict[tuple[MemoryId, MemoryId], Relation] = {}
    refused: list[str] = []
    for one in incoming:
        near = _list_current_neighbours(one, changes)[: writing.neighbours if keep_separate else None]
        change = _decide_change(one, near, scope, at, profile, writing)
        if isinstance(change, str):
            refused.append(change)
        elif change is not None:
            every.append(change)
            if not keep_separate and (earlier := changes.get(change.after.id)):
                change = replace(change, action=earlier.action, before=earlier.before)
            changes[change.after.id] = change
            for edge in _link_neighbours(change.after, near, writing.link_min, profile):
                relations[edge.a, edge.b] = edge
    done = tuple(every if keep_separate else changes.values())
    return MergeResult(changes=done, relations=tuple(relations.values()), refused=tuple(refused))


def _link_neighbours(
    new: Memory, neighbours: Sequence[Neighbour], link_min: float, profile: EmbedderProfile
) -> Iterator[Relation]:
    for sim, its in ((one.sim, one.memory) for one in neighbours):
        if sim >= link_min and its.id != new.id and tokens.is_legible(profile.scripts, new.text, its.text):
            low, high = sorted((new.id, its.id))
            yield Relation(a=low, b=high, strength=min(1.0, round(sim, 4)))


def find_band(sim: float, profile: EmbedderProfile) -> Band:
    """The band that a similarity falls in."""
    if sim >= profile.auto:
        return "auto"
    if sim >= profile.check:
        return "check"
    return "fallback" if sim >= profile.fallback else "new"


def measure_similarity(candidate: Candidate, neighbour: Neighbour, profile: EmbedderProfile) -> tuple[float, Band]:
    """How near a memory is to a candidate, in [-1, 1], and in which band: the same key is `auto`, whatever the words."""
    memory = neighbour.memory
    if candidate.fact is not None and memory.stable_key == candidate.fact.key:
        return 1.0, "auto"
    if tokens.is_legible(profile.scripts, candidate.text, memory.text):
        return neighbour.sim, find_band(neighbour.sim, profile)
    share = _compute_overlap(parse_statement(candidate.text), parse_statement(memory.text))
    return share, find_band(share, _WORD_OVERLAP_BANDS)


def _compute_overlap(a: ParsedStatement, b: ParsedStatement) -> float:
    """Share of the shorter statement's words that the other has, too."""
    least = min(len(a.words), len(b.words))
    return len(a.words & b.words) / least if least else float(a.tokens == b.tokens)


def _decide_change(
    incoming: IncomingCandidate,
    neighbours: Sequence[Neighbour],
    scope: Scope,
    at: datetime,
    profile: EmbedderProfile,
    writing: WritingSettings,
) -> Change | str | None:
    """The change that a candidate comes to, the reason of its refusal, or None when it says nothing new."""
    candidate = incoming.candidate
    if candidate.state == "pending":
        return _add_pending(incoming, neighbours, scope, at)
    if _is_covered_by_parts(candidate, neighbours):
        return None
    said = make_memory(candidate, incoming.id, scope, at)
    names = find_user_names(item.memory.fact for item in neighbours)
    for memory, sim, band in _list_comparable(candidate, said, neighbours, profile, writing):
        found: Change | str | None = "different"
        twice = _is_repetition(candidate, memory)
        if memory.updated_at > at and not twice:
            found = _merge_late_statement(incoming, memory, said, is_vouched=band == "auto")
        elif (verdict := "same" if twice else _judge_candidate(candidate, memory, names, band)) != "different":
            others = [item for item in neighbours if item.memory.id != memory.id]
            found = _change_memory(incoming, memory, verdict, band, sim, at)
            if isinstance(found, Change):
                found = replace(found, after=replace(found.after, stable_key=_choose_key(candidate, memory, others)))
        if found != "different":
            return found
    return _add_memory(incoming, neighbours, scope, at)


def _judge_candidate(candidate: Candidate, memory: Memory, names: AbstractSet[str], band: Band) -> Verdict:
    """What the candidate is beside the memory, where the user may be meant by name."""
    if names:
        candidate = replace(candidate, text=replace_user_names(candidate.text, names))
        memory = replace(memory, text=replace_user_names(memory.text, names))
    return judge_candidate(candidate, memory, is_vouched=band == "auto")


def _list_comparable(
    candidate: Candidate,
    new_memory: Memory,
    neighbours: Sequence[Neighbour],
    profile: EmbedderProfile,
    writing: WritingSettings,
) -> Iterator[tuple[Memory, float, Band]]:
    """The memories that the candidate may be about, with their similarity and its band."""
    stale = new_memory.updated_at - timedelta(days=writing.fallback_days)
    fallbacks = 0
    for neighbour in neighbours:
        memory = neighbour.memory
        sim, band = measure_similarity(candidate, neighbour, profile)
        late = memory.updated_at > new_memory.updated_at
        if not (
            _is_related(candidate, memory)
            or _is_repetition(candidate, memory)
            or (late and _is_related(_make_candidate(memory), new_memory))
        ):
            if band == "new" or memory.category != candidate.category:
                continue
            if band == "fallback":
                fallbacks += 1
                if fallbacks > writing.fallback_neighbours or memory.updated_at < stale:
                    continue
        yield memory, sim, band


def _add_pending(
    incoming: IncomingCandidate, neighbours: Sequence[Neighbour], scope: Scope, at: datetime
) -> Change | None:
    twin = any(_normalize_text(incoming.candidate.text) == _normalize_text(item.memory.text) for item in neighbours)
    return None if twin else _add_memory(incoming, neighbours, scope, at)


def _add_memory(incoming: IncomingCandidate, neighbours: Sequence[Neighbour], scope: Scope, at: datetime) -> Change:
    """The candidate as a new memory."""
    best = max((neighbour.sim for neighbour in neighbours), default=None)
    after = replace(
        make_memory(incoming.candidate, incoming.id, scope, at),
        stable_key=_find_free_key(incoming.candidate, neighbours),
    )
    return Change(
        action="ADD",
        after=after,
        vector=incoming.vector,
        band="new",
        sim=round(min(best, 1.0), 4) if best is not None else None,
    )


def _make_candidate(memory: Memory) -> Candidate:
    """A known memory as if it were said now."""
    return Candidate(text=memory.text, category=memory.category, kind=memory.kind, fact=memory.fact,
                     event_time=memory.event_time, turns=memory.turns)  # fmt: skip


def _merge_late_statement(
    incoming: IncomingCandidate, memory: Memory, new_memory: Memory, *, is_vouched: bool
) -> Change | str | None:
    """What comes of a statement that was made before what is known: a look at a turn may be taken when later turns have
    had theirs. It takes nothing back; `different` where the two have nothing to do with each other."""
    verdict = judge_candidate(_make_candidate(memory), new_memory, is_vouched=is_vouched)
    if verdict != "supersedes":
        return "different" if verdict == "different" else None
    text = _replace_name(_make_candidate(memory), new_memory)
    if text is None:
        return OUTDATED
    after = replace(memory, text=text, turns=_join_turns(memory.turns, incoming.candidate.turns))
    return Change(
        action="MERGE",
        after=after,
        before=memory,
        vector=incoming.vector,
        band="auto",
        meta={"why": "same", "notes": 2},
    )


def _is_related(candidate: Candidate, memory: Memory) -> bool:
    new, old = candidate.fact, memory.fact
    if new is None or old is None:
        return False
    alike = resolve_attribute(new)[1] == resolve_attribute(old)[1] and has_same_subject(candidate, memory)
    ended = has_same_subject(candidate, memory) and has_ended(candidate, memory)
    return alike or ended or is_food_reversal(new, old, candidate.text, memory.text)


def _is_repetition(candidate: Candidate, memory: Memory) -> bool:
    """Whether both come from one turn and say one thing, as when a model reads what the rules have read before."""
    if candidate.text == memory.text:
        return True
    if not set(candidate.turns) & set(memory.turns):
        return False
    new, old = parse_statement(candidate.text), parse_statement(memory.text)
    if candidate.fact and memory.fact:
        if not _compute_overlap(parse_statement(candidate.fact.object), parse_statement(memory.fact.object)):
            return False  # what is said of the same person twice in a turn, where one works and as what
        if _has_same_meaning(candidate.fact, memory.fact):
            return True
    return (
        _compute_overlap(new, old) >= _REPETITION_SHARE
        and not is_guarded(new, old)
        and judge_candidate(candidate, memory) != "supersedes"
    )


def _has_same_meaning(new: Fact, old: Fact) -> bool:
    """Whether two facts of a turn are one by subject, kind and value, though filed under two predicates of which one may
    be anything: who drinks only tea prefers it."""
    if (new.kind, new.subject.casefold()) != (old.kind, old.subject.casefold()) or is_denied(new) != is_denied(old):
        return False
    free = new.kind in _FREE or any(
        predicates.normalize_predicate(one.kind, one.predicate).single is None for one in (new, old)
    )
    a, b = parse_statement(new.object), parse_statement(old.object)
    return free and bool(a.words) and a.words == b.words and a.figures == b.figures


def _is_covered_by_parts(candidate: Candidate, neighbours: Sequence[Neighbour]) -> bool:
    """Whether several memories of the candidate's turn say together what it says at once."""
    if candidate.fact is None:
        return False
    some = [
        parse_statement(one.memory.fact.object)
        for one in neighbours
        if one.memory.fact
        and set(candidate.turns) & set(one.memory.turns)
        and resolve_attribute(candidate.fact) == resolve_attribute(one.memory.fact)
        and is_denied(candidate.fact) == is_denied(one.memory.fact)
    ]
    new = parse_statement(candidate.fact.object)
    known = frozenset[str]().union(*(one.words | one.figures for one in some))
    return len(some) > 1 and new.words | new.figures <= known


def _find_free_key(candidate: Candidate, neighbours: Sequence[Neighbour]) -> str | None:
    """The candidate's key, or a longer one where another memory has it: what happened twice, or a value that is denied
    beside one that holds."""
    if candidate.fact is None or candidate.state == "pending":
        return None
    taken = {one.memory.stable_key for one in neighbours if one.memory.state == "active"}
    key = candidate.fact.key
    if key in taken:
        when = candidate.event_time.date().isoformat() if candidate.event_time else "-"
        key = f"{candidate.fact.attribute}{tokens.fold_text(candidate.fact.object)}|{when}"
    return key if key not in taken else None


def _change_memory(
    incoming: IncomingCandidate, memory: Memory, verdict: Verdict, band: Band, sim: float, at: datetime
) -> Change | str | None:
    """The change to a known memory, the reason of refusal, or None when it says nothing that is not known."""
    candidate = incoming.candidate
    if TRUST_RANK[candidate.trust] < TRUST_RANK[memory.trust]:
        return LESS_TRUSTED if verdict == "supersedes" else None
    if verdict == "same" and _is_known(candidate, memory):
        return None
    action: Action = "UPDATE" if verdict == "supersedes" else "MERGE"
    meta = {"why": verdict} | ({"notes": 2} if verdict == "same" else {})
    # The newer words win also where they say less: a correction is never lost for being shorter.
    after = replace(
        memory,
        text=_replace_name(candidate, memory) or candidate.text,
        fact=candidate.fact or memory.fact,
        importance=max(candidate.importance, memory.importance),
        confidence=candidate.confidence,
        trust=candidate.trust,
        pinned=memory.pinned or candidate.pinned,
        event_time=candidate.event_time or (memory.event_time if verdict == "same" else None),
        updated_at=max(at, memory.updated_at),
        context=candidate.context or memory.context,
        turns=_join_turns(memory.turns, candidate.turns),
        tags=tuple(dict.fromkeys(memory.tags + candidate.tags)),
    )
    return Change(
        action=action,
        after=after,
        before=memory,
        vector=incoming.vector,
        band=band,
        sim=round(min(sim, 1.0), 4),
        meta=meta,
    )


def _replace_name(candidate: Candidate, memory: Memory) -> str | None:
    """What is known of a person, under the right name, when all that the candidate says is what the name is: it would
    be lost with the wrong one."""
    said, known = parse_statement(candidate.text), parse_statement(memory.text)
    fact = candidate.fact
    if fact is None or fact.persons != (fact.object,) or not said.retracted_words or not known.words - said.words:
        return None
    names = re.findall(rf"\b[{tokens.UPPER}][\w-]*", memory.text)
    wrong = [one for one in names if parse_statement(f"the {one}").words == said.retracted_words]
    if len(set(wrong)) != 1 or not known.words - said.words - said.retracted_words:
        return None
    return re.sub(rf"\b{re.escape(wrong[0])}\b", lambda _: fact.object, memory.text)


def _choose_key(candidate: Candidate, memory: Memory, others: Sequence[Neighbour]) -> str | None:
    """A memory whose key was made longer to be its own keeps it as long as it is about the same."""
    if candidate.fact is None or (memory.fact is not None and memory.fact.key == candidate.fact.key):
        return memory.stable_key
    return _find_free_key(candidate, others)


def _is_known(candidate: Candidate, memory: Memory) -> bool:
    """Whether the memory says all that the candidate says."""
    if candidate.event_time not in (None, memory.event_time):
        return False
    new, old = parse_statement(candidate.text), parse_statement(memory.text)
    if new.figures <= old.figures and new.words <= old.words:
        return True
    # Of two readings of one turn the one with more in it stays: neither is a later word on the matter.
    return bool(set(candidate.turns) & set(memory.turns)) and bool(
        (old.names | old.figures) - new.names - new.figures - set(new.tokens) or len(new.words) < len(old.words)
    )


def make_memory(candidate: Candidate, id_: MemoryId, scope: Scope, at: datetime) -> Memory:
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
        state=candidate.state,
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


def _list_current_neighbours(incoming: IncomingCandidate, changes: dict[MemoryId, Change]) -> list[Neighbour]:
    """The neighbours as this write leaves them, with what it added, the same key first, then the closest.

    What is pending meets only what is pending, and what is active only what is active."""
    near = {item.memory.id: item for item in incoming.neighbours}
    for id_, change in changes.items():
        known = near.get(id_)
        sim = float(incoming.vector @ change.vector) if change.vector is not None else 0.0
        if change.after.kind == incoming.candidate.kind:
            near[id_] = Neighbour(memory=change.after, sim=max(sim, known.sim if known else 0.0))
    key = incoming.candidate.fact.key if incoming.candidate.fact else None
    here = [item for item in near.values() if item.memory.state == incoming.candidate.state]
    return sorted(here, key=lambda item: (key is None or item.memory.stable_key != key, -item.sim))


def is_negated(text: str) -> bool:
    """Whether the text denies something."""
    return parse_statement(text).is_negated


def _normalize_text(text: str) -> str:
    return " ".join(tokens.fold_text(text).split()).rstrip(".。")


def _join_turns(a: tuple[TurnId, ...], b: tuple[TurnId, ...]) -> tuple[TurnId, ...]:
    return tuple(dict.fromkeys(a + b))
