"""How much two lists of results have in common."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID


def overlap(one: Sequence[UUID], other: Sequence[UUID]) -> float:
    """The share of the longer list that the other has as well, in any order; two empty lists are the same."""
    longer = max(len(one), len(other))
    return len(set(one) & set(other)) / longer if longer else 1.0


def mean(found: Sequence[float]) -> float:
    """The mean; 1 where nothing was compared, for then nothing differs."""
    return sum(found) / len(found) if found else 1.0
