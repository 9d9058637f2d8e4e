"""The journal: one entry for each change of a space, and the changes that a thread has not seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.memory import StoredMemory

Action = Literal["ADD", "UPDATE", "DELETE", "MERGE", "LINK", "TTL", "RESTORE"]
Event = Literal["created", "updated", "merged", "deleted", "soft_deleted", "restored"]
Band = Literal["auto", "check", "fallback", "new"]
Node = Literal["hotpath", "context", "episodic", "worker", "face"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One line of the journal, with the text it concerns as the reader may see it."""

    rev: Revision
    memory_id: MemoryId
    action: Action
    ts: datetime
    category: str
    text: str
    importance: int = 2
    pinned: bool = False
    old_ref: str | None = None
    new_ref: str | None = None
    thread_id: str | None = None
    node: str | None = None
    actor: str | None = None
    band: str | None = None
    sim: float | None = None
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """The changes a thread has not seen: journal lines in (since, rev], oldest first."""

    since: Revision
    rev: Revision
    entries: tuple[JournalEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceChange:
    """One revision of a space, with the memory as it was then.

    Without a memory it was erased since, as it was then or for good, or it left the categories of the reader: whoever
    keeps a copy drops it."""

    rev: Revision
    memory_id: MemoryId
    action: Action
    ts: datetime
    memory: StoredMemory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePage:
    """The changes of a space after a revision, oldest first. The page after it begins at `next`.

    `rev` is the revision of the space, at which there is no more. A space that was erased begins again at 0, with
    another `founded_at`: a copy of it begins again, too. None for a space that nothing was written to."""

    entries: tuple[SpaceChange, ...]
    next: Revision
    rev: Revision
    founded_at: datetime | None
