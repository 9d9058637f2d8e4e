"""Merging of a memory that was written before it had a vector, once it has one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from muniment.memory.config.schema import EmbedderProfile, WritingSettings
from muniment.memory.domain.ids import MemoryId, Vector
from muniment.memory.domain.memory import Neighbour, StoredMemory
from muniment.memory.domain.plan import Change
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.merging.judge import judge_candidate
from muniment.memory.rules.merging.merge import IncomingCandidate, MergeResult, merge_candidates
from muniment.memory.rules.merging.restatements import measure_similarity


def merge_stored(
    memory: StoredMemory,
    vector: Vector,
    neighbours: Sequence[Neighbour],
    *,
    scope: Scope,
    profile: EmbedderProfile,
    writing: WritingSettings,
) -> MergeResult:
    """Return what would have been decided of the memory had its vector been there when it was said.

    Where another memory takes up what it says, or says it already, it is superseded by that one. Where it stays, or a
    write would have refused it, there are no changes: what is stored is not dropped for what was not known then."""
    others = tuple(each for each in neighbours if each.memory.id != memory.id)
    candidate = _make_whole_candidate(memory)
    incoming = IncomingCandidate(candidate=candidate, vector=vector, neighbours=others, id=memory.id)
    there = replace(scope, project=memory.project_id, session=memory.session_id)
    merged = merge_candidates([incoming], scope=there, at=memory.updated_at, profile=profile, writing=writing)
    if any(change.after.id == memory.id for change in merged.changes):
        return replace(merged, changes=())
    heir = next((change.after.id for change in merged.changes), None)
    heir = heir or _find_same(candidate, others, profile)
    if merged.refused or heir is None:
        return MergeResult(changes=(), relations=())
    gone = replace(memory, state="superseded", superseded_by=heir)
    change = Change(action="MERGE", before=memory, after=gone, meta={"why": "same", "into": str(heir)})
    return replace(merged, changes=(*merged.changes, change))


def _find_same(candidate: Candidate, neighbours: Sequence[Neighbour], profile: EmbedderProfile) -> MemoryId | None:
    key = candidate.fact.key if candidate.fact else None
    for neighbour in neighbours:
        is_vouched = measure_similarity(candidate.text, key, neighbour, profile)[1] == "auto"
        if judge_candidate(candidate, neighbour.memory, is_vouched=is_vouched) == "same":
            return neighbour.memory.id
    return None


def _make_whole_candidate(memory: StoredMemory) -> Candidate:
    return Candidate(
        text=memory.text,
        category=memory.category,
        kind=memory.kind,
        fact=memory.fact,
        aliases=memory.aliases,
        importance=memory.importance,
        confidence=memory.confidence,
        trust=memory.trust,
        pinned=memory.pinned,
        tags=memory.tags,
        event_time=memory.event_time,
        context=memory.context,
        turns=memory.turns,
        actor=memory.actor_id,
        role=memory.role,
        project=memory.project_id,
        app=memory.app_id,
        reach=memory.reach,
        source=memory.source,
        expires_at=memory.expires_at,
    )
