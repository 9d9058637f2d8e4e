"""What is due in a space, and what maintenance did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from muniment.memory.domain.consolidation import Run
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.memory import Memory
from muniment.memory.domain.plan import IndexPart


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexingResult:
    """What became of the indexes of a space with so many active memories: whether it has them now, and what was done."""

    memories: int
    indexed: bool
    made: tuple[IndexPart, ...] = ()
    full: bool = False  # it has none because too many spaces have


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionTerms:
    """After how long what goes: days for a memory that nobody touches, by category, None for never (one that is not named
    has `untouched_days`), and by scope, whatever its importance, None for no days of its own; how old turns, and events and
    looks, may be."""

    untouched_days: int
    categories: Mapping[str, int | None]
    importance_below: int
    fade_days: int
    scopes: Mapping[str, int | None]
    turns: timedelta
    events: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class DueMemories:
    """What of a space has to go, at one revision: memories to forget and to purge; and when the next of them will, None for
    never. `tended`: up to which revision the space was tended before."""

    rev: Revision
    maintained_rev: Revision
    forget: tuple[Memory, ...] = ()
    purge: tuple[MemoryId, ...] = ()
    next_due_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceResult:
    """What became of a space that was tended: memories forgotten and purged, turns of the ledger removed."""

    forgotten: int = 0
    purged: int = 0
    turns: int = 0
    run: Run | None = None  # its consolidation, where it had changed
