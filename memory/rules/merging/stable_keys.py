"""The stable key of a memory, which no other active memory of a space has."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.memory.domain.memory import Neighbour, StoredMemory
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.language import tokens


def find_free_key(candidate: Candidate, neighbours: Sequence[Neighbour]) -> str | None:
    """Return the candidate's key, or a longer one if another memory has it: of a second event, or of a denied value
    beside one that holds."""
    if candidate.fact is None or candidate.state == "pending":
        return None
    taken = {item.memory.stable_key for item in neighbours if item.memory.state == "active"}
    key = candidate.fact.key
    if key in taken:
        when = candidate.event_time.date().isoformat() if candidate.event_time else "-"
        key = f"{candidate.fact.attribute}{tokens.fold_text(candidate.fact.object)}|{when}"
    return key if key not in taken else None


def choose_key(candidate: Candidate, memory: StoredMemory, others: Sequence[Neighbour]) -> str | None:
    """Return the key of a changed memory: its own, also a longer one, while it is about the same."""
    if candidate.fact is None or (memory.fact is not None and memory.fact.key == candidate.fact.key):
        return memory.stable_key
    return find_free_key(candidate, others)
