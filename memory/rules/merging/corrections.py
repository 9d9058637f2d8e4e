"""Puts one value in the place of another in what is known: `it's Emily, not Emma`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from muniment.memory.domain.ids import Vector
from muniment.memory.domain.memory import TRUST_RANK, Fact, Neighbour, StoredMemory
from muniment.memory.domain.plan import Change
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.merging.endings import correct_text, find_holder, is_structured


def correct_memories(
    candidate: Candidate, vector: Vector, neighbours: Sequence[Neighbour], at: datetime
) -> tuple[Change, ...]:
    """The changes of the memories of one person or thing that have the wrong value; none where they are of several."""
    found = [
        (item, text)
        for item in neighbours
        if item.memory.updated_at <= at and not set(item.memory.turns) & set(candidate.turns)
        if not (is_structured(candidate.fact) and is_structured(item.memory.fact))
        if (text := correct_text(candidate.text, item.memory.text))
    ]
    holders = {find_holder(item.memory.text) for item, _ in found}
    if len(holders) > 1 or (len(found) > 1 and holders == {""}):
        return ()
    if any(TRUST_RANK[candidate.trust] < TRUST_RANK[item.memory.trust] for item, _ in found):
        return ()
    taken = {item.memory.stable_key for item in neighbours}
    return tuple(
        Change(
            action="UPDATE",
            after=_correct_memory(candidate, item.memory, text, at, taken),
            before=item.memory,
            vector=vector,
            band="check",
            sim=round(min(item.sim, 1.0), 4),
            meta={"why": "supersedes"},
        )
        for item, text in found
    )


def _correct_memory(
    candidate: Candidate, memory: StoredMemory, text: str, at: datetime, taken: set[str | None]
) -> StoredMemory:
    fact = _correct_fact(candidate.text, memory.fact) if memory.fact else None
    key = fact.key if fact and is_structured(fact) else memory.stable_key
    return replace(
        memory,
        text=text,
        fact=fact,
        stable_key=memory.stable_key if key in taken else key,
        updated_at=at,
        turns=tuple(dict.fromkeys((*memory.turns, *candidate.turns))),
    )


def _correct_fact(said: str, fact: Fact) -> Fact:
    """The fact with the right value wherever it has the wrong one."""
    return replace(
        fact,
        object=correct_text(said, fact.object) or fact.object,
        subject=correct_text(said, fact.subject) or fact.subject,
        persons=tuple(correct_text(said, person) or person for person in fact.persons),
        entities=tuple(correct_text(said, entity) or entity for entity in fact.entities),
    )
