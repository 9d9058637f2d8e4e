"""What a consolidation did to the memories of a space, and what takes it back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from muniment.memory.plan import Change
from muniment.memory.records import Memory, MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a run changed of one memory: as it was before and as it is now, with the `meta` of the journal's lines and their `rev`."""

    before: Memory
    now: Memory
    metas: tuple[dict[str, Any], ...]
    alone: bool  # nobody else has changed it since, and no other memory has its stable key by now


@dataclass(frozen=True, slots=True, kw_only=True)
class Gained:
    """An edge that a memory got from another by a run: its strength since, and before, None where there was none."""

    low: MemoryId
    high: MemoryId
    now: float
    before: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """What a memory got by a run of others' retrievals: how many, and when it was the last time, since and before."""

    id: MemoryId
    count: int
    at: datetime | None
    before: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reversal:
    """What takes a run back; each of `apart` was made one by it, and is not to be again."""

    changes: tuple[Change, ...]
    edges: tuple[Gained, ...]
    retrieved: tuple[Retrieved, ...]
    apart: tuple[frozenset[MemoryId], ...]
