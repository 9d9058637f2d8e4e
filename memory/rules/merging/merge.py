"""Merging: each candidate becomes an addition, a merge, a correction, or nothing.

The bands of cosines come from the embedder's profile. A cosine alone never merges: the judge decides. In the band
`auto` it may call two statements the same, but not where a guard keeps them apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from muniment.memory.config.schema import EmbedderProfile, WritingSettings
from muniment.memory.domain.ids import MemoryId, TurnId, Vector
from muniment.memory.domain.journal import Action, Band
from muniment.memory.domain.memory import (
    LEGACY_TAG,
    MAY_REPLACE,
    TRUST_RANK,
    Neighbour,
    State,
    StoredMemory,
    is_note,
    is_structured,
)
from muniment.memory.domain.plan import Change, Relation
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, find_place, make_candidate, make_memory
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.writing import choose_bands
from muniment.memory.rules.merging.aliases import unite_aliases
from muniment.memory.rules.merging.corrections import correct_memories, is_corrected_since, replace_name, settle_time
from muniment.memory.rules.merging.endings import find_ended
from muniment.memory.rules.merging.hosts.items import merge_item
from muniment.memory.rules.merging.judge import (
    is_related,
    is_repetition,
    judge_candidate,
)
from muniment.memory.rules.merging.restatements import (
    choose_key,
    find_free_key,
    is_comparable_row,
    is_covered_by_parts,
    is_decided,
    is_known,
    is_told,
    measure_similarity,
    retire_read_notes,
)
from muniment.memory.rules.merging.wording import Verdict
from muniment.memory.rules.statements.parse import may_change_known, normalize_sentence
from muniment.memory.rules.statements.predicates import find_user_names, replace_user_names

_MAX_MARKS = 3  # memories that a memory is said to replace perhaps
OUTDATED = "said before what is known now"
LESS_TRUSTED = "contradicts what a more trusted source said"
KNOWN = "known"
NOTHING_NEW = "says nothing new"
_OUTCOMES: dict[tuple[Action, State], str] = {
    ("ADD", "active"): "added", ("ADD", "pending"): "waiting", ("UPDATE", "active"): "updated",
    ("MERGE", "active"): "merged",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingCandidate:
    """A candidate with its vector, its neighbours, and the id of its memory if it is new."""

    candidate: Candidate
    vector: Vector
    neighbours: tuple[Neighbour, ...]
    id: MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """Changes in order, relations between similar memories, and the reasons of refusals.

    `fates` has for each candidate the memory that came of it or says it already, and what came of it."""

    changes: tuple[Change, ...]
    relations: tuple[Relation, ...]
    refused: tuple[str, ...] = ()
    fates: tuple[tuple[MemoryId | None, str], ...] = ()


def merge_candidates(
    incoming: Sequence[IncomingCandidate],
    *,
    scope: Scope,
    at: datetime,
    profile: EmbedderProfile,
    writing: WritingSettings,
    file_rows: int = 0,
    is_live: bool = False,
    is_by_model: bool = False,
) -> MergeResult:
    """Decide every candidate in order; a later one is compared with the results of the earlier ones.

    Each memory has one change. A pending candidate changes no active memory: it becomes one pending memory.
    `file_rows` is the number of rows of a file that the candidates are. Several are as many writes, each with its
    changes; statements with different numbers are never one, unless both are facts with one key; notes with numbers
    are one only word for word; and none are one by the embedder's word alone, since their source held them apart. The
    words of different speakers are never one.
    `is_live`: it is said now, and so after all that is known, whatever the clocks of other hosts said. `is_by_model`:
    a model has read the turn as a whole, so that its facts take the place of the notes that they were read from."""
    changes: dict[MemoryId, Change] = {}
    all_changes: list[Change] = []
    relations: dict[tuple[MemoryId, MemoryId], Relation] = {}
    fates: dict[MemoryId, tuple[MemoryId | None, str]] = {}
    for item in incoming:
        fates[item.id] = None, NOTHING_NEW
        neighbours = _list_current_neighbours(item, scope, changes)[: writing.neighbours if file_rows > 1 else None]
        if is_live:
            neighbours = [settle_time(each, at) if each.memory.updated_at > at else each for each in neighbours]
        new_memory = make_memory(item.candidate, item.id, scope, at)
        comparable, is_verbatim = neighbours, not is_structured(item.candidate.fact)
        if file_rows and is_verbatim:
            comparable = [each for each in neighbours if is_comparable_row(item.candidate.text, each.memory)]
        if is_verbatim and new_memory.kind != "procedural":
            speaker = new_memory.actor_id or scope.owner
            said = ((each, each.memory.actor_id or scope.owner) for each in comparable)
            comparable = [each for each, actor in said if actor == speaker or is_structured(each.memory.fact)]
        for change in _decide_changes(item, new_memory, comparable, profile, writing, is_row=file_rows > 0):
            if not isinstance(change, Change):
                fates[item.id] = (None, change) if isinstance(change, str) else (change, KNOWN)
                continue
            if change.before is not None and is_decided(item.candidate, change.before, comparable):
                continue
            if change.action == "ADD" and comparable is not neighbours:  # its key may be that of one left out
                free = replace(change.after, stable_key=find_free_key(item.candidate, neighbours))
                change = replace(change, after=free)  # noqa: PLW2901 - the same change
            all_changes.append(change)
            fates[item.id] = change.after.id, _OUTCOMES.get((change.action, change.after.state), change.action.lower())
            earlier = None if file_rows > 1 else changes.get(change.after.id)
            changes[change.after.id] = (
                replace(change, action=earlier.action, before=earlier.before) if earlier else change
            )
            for relation in _link_neighbours(change.after, neighbours, writing.link_min, profile):
                relations[relation.a, relation.b] = relation
    final = tuple(all_changes if file_rows > 1 else changes.values())
    known = (neighbour.memory for item in incoming for neighbour in item.neighbours)
    final += tuple(retire_read_notes(final, known, at, writing.soft_delete_days, is_by_model=is_by_model))
    tokens.drop_long_texts()
    refused = tuple(why for memory, why in fates.values() if memory is None and why != NOTHING_NEW)
    return MergeResult(changes=final, relations=(*relations.values(),), refused=refused, fates=(*fates.values(),))


def _list_current_neighbours(
    incoming: IncomingCandidate, scope: Scope, changes: dict[MemoryId, Change]
) -> list[Neighbour]:
    """Return the neighbours of the candidate's state and place as this write leaves them: the same key first, then the
    closest.

    A pending candidate has only pending neighbours, an active one only active neighbours."""
    candidate = incoming.candidate
    current = {item.memory.id: item for item in incoming.neighbours}
    for id_, change in changes.items():
        before = current.get(id_)
        sim = float(incoming.vector @ change.vector) if change.vector is not None else 0.0
        is_user = change.after.reach == candidate.reach == "user"
        is_there = is_user or change.after.place == find_place(candidate, scope)
        if change.after.kind == candidate.kind and is_there:
            current[id_] = Neighbour(memory=change.after, sim=max(sim, before.sim if before else 0.0))
    key = candidate.fact.key if candidate.fact else None
    same_state = [item for item in current.values() if item.memory.state == candidate.state]
    return sorted(same_state, key=lambda item: (key is None or item.memory.stable_key != key, -item.sim))


def _list_comparable(
    candidate: Candidate,
    new_memory: StoredMemory,
    neighbours: Sequence[Neighbour],
    profile: EmbedderProfile,
    writing: WritingSettings,
) -> Iterator[tuple[StoredMemory, float, Band]]:
    """Yield the memories that may be about the same as the candidate, with their similarity and its band."""
    stale = new_memory.updated_at - timedelta(days=writing.fallback_days)
    fallbacks = 0
    for neighbour in neighbours:
        memory = neighbour.memory
        sim, band = measure_similarity(new_memory.text, new_memory.stable_key, neighbour, profile)
        late = memory.updated_at > new_memory.updated_at
        if not (
            is_related(candidate, memory)
            or is_repetition(candidate, memory)
            or (late and is_related(make_candidate(memory), new_memory))
        ):
            if band == "new" or memory.category != candidate.category:
                continue
            if band == "fallback":
                fallbacks += 1
                if fallbacks > writing.fallback_neighbours or memory.updated_at < stale:
                    continue
        yield memory, sim, band


def _link_neighbours(
    new: StoredMemory, neighbours: Sequence[Neighbour], link_min: float, profile: EmbedderProfile
) -> Iterator[Relation]:
    """Yield relations to the neighbours with at least `link_min` similarity, and at least the embedder's `link`."""
    for sim, memory in ((item.sim, item.memory) for item in neighbours if item.sim >= link_min):
        bands = choose_bands(profile, new.text, memory.text) if profile.by_writing else profile
        if sim < bands.link or memory.id == new.id:
            continue
        if tokens.is_legible(profile.scripts, new.text, memory.text):
            low, high = sorted((new.id, memory.id))
            yield Relation(a=low, b=high, strength=min(1.0, round(sim, 4)))


def _decide_changes(
    incoming: IncomingCandidate,
    new_memory: StoredMemory,
    neighbours: Sequence[Neighbour],
    profile: EmbedderProfile,
    writing: WritingSettings,
    *,
    is_row: bool,
) -> tuple[Change | str | MemoryId, ...]:
    """Return the changes of a candidate: of all memories that it puts right, else of the one that it is or changes.

    The reason of its refusal may take their place, or the memory that says it; nothing does where several say it."""
    candidate, at = incoming.candidate, new_memory.created_at
    if candidate.item is not None and candidate.state == "active":
        same = merge_item(candidate, incoming.vector, new_memory, neighbours, profile)
        return (same or _add_memory(incoming, new_memory, neighbours),)
    if candidate.state == "pending":
        text = normalize_sentence(candidate.text)
        same = next((item.memory.id for item in neighbours if text == normalize_sentence(item.memory.text)), None)
        return (same or _add_memory(incoming, new_memory, neighbours),)
    may_change = may_change_known(candidate.text)
    if may_change and (corrected := correct_memories(candidate, incoming.vector, neighbours, at)):
        return corrected
    if is_covered_by_parts(candidate, neighbours):
        return ()
    current = [item.memory for item in neighbours if item.memory.updated_at <= at]
    ended = find_ended(candidate, current) if may_change else []
    ended = [each for each in ended if candidate.is_correction or judge_candidate(candidate, each) != "same"]
    if len(ended) == 1 and (changed := _end_memory(incoming, ended[0], neighbours, at)):
        return (changed,)
    if candidate.is_correction and not ended:
        return ()
    marks = tuple(f"{MAY_REPLACE}{memory.id}" for memory in ended[:_MAX_MARKS])  # it is not certain which of them
    if marks:
        new_memory = replace(new_memory, tags=new_memory.tags + marks)
    return (_merge_candidate(incoming, new_memory, neighbours, profile, writing, is_row=is_row),)


def _merge_candidate(
    incoming: IncomingCandidate,
    new_memory: StoredMemory,
    neighbours: Sequence[Neighbour],
    profile: EmbedderProfile,
    writing: WritingSettings,
    *,
    is_row: bool,
) -> Change | str | MemoryId:
    """Return the change of a candidate that ends no memory, or the memory that says all of it."""
    candidate, at = incoming.candidate, new_memory.created_at
    for item in neighbours if is_note(candidate.fact) else ():
        if is_told(candidate, item.memory):
            return item.memory.id
    # A name that owns something may be the user's.
    names = find_user_names(item.memory.fact for item in neighbours)
    named = replace(candidate, text=replace_user_names(candidate.text, names)) if names else candidate
    for memory, sim, band in _list_comparable(candidate, new_memory, neighbours, profile, writing):
        result: Change | str | None = "different"
        repeated = is_repetition(candidate, memory)
        is_vouched = band == "auto" and not is_row
        text = replace_user_names(memory.text, names) if names else memory.text
        known = memory if text == memory.text else replace(memory, text=text)
        if memory.updated_at > at and is_corrected_since(candidate, memory):
            return OUTDATED
        if memory.updated_at > at and not repeated:
            result = _merge_late_statement(incoming, memory, new_memory, is_vouched=is_vouched)
        elif (verdict := "same" if repeated else judge_candidate(named, known, is_vouched=is_vouched)) == "same" or (
            verdict == "supersedes" and writing.contradictions == "supersede"
        ):
            others = [item for item in neighbours if item.memory.id != memory.id]
            result = _change_memory(incoming, memory, verdict, band, sim, at)
            if isinstance(result, Change):
                result = replace(result, after=replace(result.after, stable_key=choose_key(candidate, memory, others)))
        if result != "different":
            return memory.id if result is None else result
    return _add_memory(incoming, new_memory, neighbours)


def _end_memory(
    incoming: IncomingCandidate, ended: StoredMemory, neighbours: Sequence[Neighbour], at: datetime
) -> Change | str | None:
    """Return the change of the one memory that the candidate ends."""
    sim = next(item.sim for item in neighbours if item.memory.id == ended.id)
    result = _change_memory(incoming, ended, "supersedes", "check", sim, at)
    if isinstance(result, Change):
        others = [item for item in neighbours if item.memory.id != ended.id]
        key = choose_key(incoming.candidate, ended, others)
        result = replace(result, after=replace(result.after, stable_key=key))
    return result


def _add_memory(incoming: IncomingCandidate, memory: StoredMemory, neighbours: Sequence[Neighbour]) -> Change:
    """Return the addition of the candidate as a new memory."""
    best = max((neighbour.sim for neighbour in neighbours), default=None)
    return Change(
        action="ADD",
        after=replace(memory, stable_key=find_free_key(incoming.candidate, neighbours)),
        vector=incoming.vector,
        band="new",
        sim=round(min(best, 1.0), 4) if best is not None else None,
    )


def _merge_late_statement(
    incoming: IncomingCandidate, memory: StoredMemory, new_memory: StoredMemory, *, is_vouched: bool
) -> Change | str | None:
    """Return the change of a statement older than the memory, when a turn is processed after later turns.

    It takes nothing back. `different` means that the two are unrelated."""
    verdict = judge_candidate(make_candidate(memory), new_memory, is_vouched=is_vouched)
    if verdict != "supersedes":
        return "different" if verdict == "different" else None
    text = replace_name(make_candidate(memory), new_memory)
    if text is None:
        return OUTDATED
    after = replace(memory, text=text, turns=_join_turns(memory.turns, incoming.candidate.turns))
    meta = {"why": "same", "notes": 2}
    return Change(action="MERGE", after=after, before=memory, vector=incoming.vector, band="auto", meta=meta)


def _change_memory(
    incoming: IncomingCandidate, memory: StoredMemory, verdict: Verdict, band: Band, sim: float, at: datetime
) -> Change | str | None:
    """Return the change to a memory, the reason of refusal, or None when the memory says all of it."""
    candidate = incoming.candidate
    if TRUST_RANK[candidate.trust] < TRUST_RANK[memory.trust]:
        return LESS_TRUSTED if verdict == "supersedes" else None
    if verdict == "same" and is_known(candidate, memory) and candidate.expires_at == memory.expires_at:
        return None
    action: Action = "UPDATE" if verdict == "supersedes" else "MERGE"
    meta = {"why": verdict} | ({"notes": 2} if verdict == "same" else {})
    # The newer text wins also where it says less: a correction is never lost because it is shorter.
    after = replace(
        memory,
        text=replace_name(candidate, memory) or candidate.text,
        fact=candidate.fact or memory.fact,
        importance=max(candidate.importance, memory.importance),
        confidence=candidate.confidence,
        trust=candidate.trust,
        pinned=memory.pinned or candidate.pinned,
        event_time=candidate.event_time or (memory.event_time if verdict == "same" else None),
        updated_at=max(at, memory.updated_at),
        context=candidate.context or memory.context,
        turns=_join_turns(memory.turns, candidate.turns),
        tags=_join_tags(memory.tags, candidate.tags, verdict),
        aliases=unite_aliases(memory.aliases, candidate.aliases) if candidate.aliases else memory.aliases,
        source=candidate.source or (memory.source if verdict == "same" else None),
        expires_at=candidate.expires_at,
    )
    sim = round(min(sim, 1.0), 4)
    return Change(action=action, after=after, before=memory, vector=incoming.vector, band=band, sim=sim, meta=meta)


def _join_tags(old: tuple[str, ...], new: tuple[str, ...], verdict: Verdict) -> tuple[str, ...]:
    kept = (
        old if verdict == "same" else [tag for tag in old if tag != LEGACY_TAG]
    )  # what it says is no longer from there
    return tuple(dict.fromkeys((*kept, *new)))


def _join_turns(a: tuple[TurnId, ...], b: tuple[TurnId, ...]) -> tuple[TurnId, ...]:
    return tuple(dict.fromkeys(a + b))
