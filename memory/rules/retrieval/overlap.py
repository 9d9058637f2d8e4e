"""How much two lists of results have in common."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID


def compute_overlap(first: Sequence[UUID], second: Sequence[UUID]) -> float:
    """The share of the longer list that the other has as well, in any order; two empty lists are the same."""
    longer = max(len(first), len(second))
    return len(set(first) & set(second)) / longer if longer else 1.0


def compute_mean(values: Sequence[float]) -> float:
    """The mean; 1 where nothing was compared, for then nothing differs."""
    return sum(values) / len(values) if values else 1.0
