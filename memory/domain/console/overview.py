"""Values of the first page of the console."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCount:
    """How many memories of a category are in a state."""

    category: str
    state: str
    count: int
