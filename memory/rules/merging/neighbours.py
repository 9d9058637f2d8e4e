"""A candidate among its neighbours: how alike they are, and the stable key that none of them has yet."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.memory.config.schema import EmbedderProfile
from muniment.memory.domain.journal import Band
from muniment.memory.domain.memory import Neighbour, StoredMemory
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.language import tokens
from muniment.memory.rules.statements.parse import parse_statement

# The share of common words replaces the cosine where the embedder does not know the script; these are its bands.
_WORD_OVERLAP_BANDS = EmbedderProfile(
    auto=0.9, check=0.5, fallback=0.3, floor=0.0, ceiling=1.0, scripts=("latin", "cjk")
)


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


def find_band(sim: float, profile: EmbedderProfile) -> Band:
    """Return the band of a similarity."""
    if sim >= profile.auto:
        return "auto"
    if sim >= profile.check:
        return "check"
    return "fallback" if sim >= profile.fallback else "new"


def measure_similarity(candidate: Candidate, neighbour: Neighbour, profile: EmbedderProfile) -> tuple[float, Band]:
    """Return the similarity of a memory to a candidate, in [-1, 1], and its band. The same key is 1.0 and `auto`."""
    memory = neighbour.memory
    if candidate.fact is not None and memory.stable_key == candidate.fact.key:
        return 1.0, "auto"
    if tokens.is_legible(profile.scripts, candidate.text, memory.text):
        return neighbour.sim, find_band(neighbour.sim, profile)
    share = parse_statement(candidate.text).measure_overlap(parse_statement(memory.text))
    return share, find_band(share, _WORD_OVERLAP_BANDS)
