"""What is due in a space, what maintenance did, and what was made or moved in it by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from muniment.memory.domain.consolidation import Run
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import IndexPart
from muniment.memory.domain.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexingResult:
    """The indexes of a space: its number of active memories, whether they are indexed, and what was made or dropped."""

    memories: int
    indexed: bool
    made: tuple[IndexPart, ...] = ()
    full: bool = False  # it has none, because too many spaces have indexes


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionTerms:
    """The terms of retention: days until a memory that is not accessed is forgotten, and the age of turns and events.

    The days are by category (None is never; a category that is not named has `untouched_days`), and by scope, whatever
    the importance (None: the scope has no days of its own)."""

    untouched_days: int
    categories: Mapping[str, int | None]
    importance_below: int
    fade_days: int
    scopes: Mapping[str, int | None]
    turns: timedelta
    events: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class DueMemories:
    """The memories of a space to forget and to purge, at one revision, and when the next is due; None is never.

    `maintained_rev` is the revision of the last maintenance."""

    rev: Revision
    maintained_rev: Revision
    forget: tuple[StoredMemory, ...] = ()
    purge: tuple[MemoryId, ...] = ()
    next_due_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceResult:
    """The result of maintenance: numbers of memories forgotten and purged, and of turns removed from the ledger."""

    forgotten: int = 0
    purged: int = 0
    turns: int = 0
    run: Run | None = None  # its consolidation, where it had changed


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerCounts:
    """Numbers of turns and sessions of a space that are past their days."""

    turns: int
    sessions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RefilingResult:
    """How many memories of a space were moved, by their former and their new category."""

    scope: Scope
    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)
