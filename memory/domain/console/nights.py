"""Values of the console's pages of consolidation runs."""

from __future__ import annotations

from dataclasses import dataclass

from muniment.memory.domain.consolidation import PairClass
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.turn import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class PairMemory:
    """A memory of a pair as it is at this time."""

    id: MemoryId
    text: str
    state: str
    category: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPair:
    """A pair that a run has judged last: its similarity in hundredths, the verdict (`same`, `supersedes`, `different`
    or `unanswered`), who gave it, and the memories; one that is gone for good is None."""

    low: MemoryId
    high: MemoryId
    score: int
    judgement: str
    source: Source | str  # `person`, who took a merge back
    pair_class: PairClass | None
    first: PairMemory | None
    second: PairMemory | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairPage:
    """The pairs of a run from the closest on, and the place to go on at; None at the end."""

    pairs: tuple[JudgedPair, ...]
    next: str | None
