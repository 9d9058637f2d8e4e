"""Merging of hosts' items: which memory says the same as an item, and what the item adds to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from muniment.memory.config.schema import EmbedderProfile
from muniment.memory.domain.ids import MemoryId, Vector
from muniment.memory.domain.memory import TRUST_RANK, Neighbour, StoredMemory
from muniment.memory.domain.plan import Change
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.merging.aliases import unite_aliases
from muniment.memory.rules.merging.restatements import measure_similarity
from muniment.memory.rules.merging.wording import compare_texts
from muniment.memory.rules.statements.parse import normalize_sentence, parse_statement


def merge_item(
    candidate: Candidate,
    vector: Vector,
    new_memory: StoredMemory,
    neighbours: Sequence[Neighbour],
    profile: EmbedderProfile,
) -> Change | MemoryId | None:
    """Return the memory that says the same as an item, or its change by what the item adds; None where none does.

    A host says itself which of its items is another one by now: none takes the place of one with another id."""
    same = _find_same(candidate, new_memory, neighbours, profile)
    if same is None:
        return None
    memory, after = same.memory, _combine(same.memory, candidate)
    if after == memory:
        return memory.id
    after = replace(after, updated_at=max(new_memory.created_at, memory.updated_at))
    sim, meta = round(min(same.sim, 1.0), 4), {"why": "same", "notes": 2}
    return Change(action="MERGE", after=after, before=memory, vector=vector, band="auto", sim=sim, meta=meta)


def _find_same(
    candidate: Candidate, new_memory: StoredMemory, neighbours: Sequence[Neighbour], profile: EmbedderProfile
) -> Neighbour | None:
    """Return the memory of the item's type that says all of it: in the same words, or in such as the embedder and the
    guards both call the same. Two that differ in a number, or of which the item says more, are two."""
    if candidate.fact is None:
        return None
    kind, text = candidate.fact.kind, normalize_sentence(candidate.text)
    typed = [each for each in neighbours if each.memory.fact is not None and each.memory.fact.kind == kind]
    for each in typed:
        if text == normalize_sentence(each.memory.text):
            return each
    new = parse_statement(candidate.text)
    for each in typed:
        old = parse_statement(each.memory.text)
        if new.figures != old.figures or not new.words <= old.words:
            continue
        _, band = measure_similarity(new_memory.text, new_memory.stable_key, each, profile)
        if band == "auto" and compare_texts(new, old, is_vouched=True) == "same":
            return each
    return None


def _combine(memory: StoredMemory, candidate: Candidate) -> StoredMemory:
    """Return a memory with what an item adds that says the same. Its words stay, and of two ends the later one."""
    own = candidate.item.own_tags if candidate.item else ()
    ends = (memory.expires_at, candidate.expires_at)
    is_trusted = TRUST_RANK[candidate.trust] >= TRUST_RANK[memory.trust]
    return replace(
        memory,
        importance=max(candidate.importance, memory.importance),
        confidence=max(candidate.confidence, memory.confidence) if is_trusted else memory.confidence,
        pinned=memory.pinned or candidate.pinned,
        tags=tuple(dict.fromkeys((*memory.tags, *(tag for tag in candidate.tags if tag not in own)))),
        aliases=unite_aliases(memory.aliases, candidate.aliases) if candidate.aliases else memory.aliases,
        expires_at=None if None in ends else max(end for end in ends if end is not None),
    )
