"""Values of the pages of memories in the console."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from muniment.memory.domain.ids import Revision, TurnId
from muniment.memory.domain.journal import Action
from muniment.memory.domain.memory import StoredMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryVersion:
    """A line of the journal of a memory, with the memory as it was then; without one where that was erased."""

    rev: Revision
    at: datetime
    action: Action
    node: str | None
    actor: str | None
    meta: dict[str, Any] = field(default_factory=dict)
    memory: StoredMemory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """A turn at which memory had put a text before a model."""

    turn: TurnId
    at: datetime
    role: str
    thread: str | None = None
    session: str | None = None
    actor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFacets:
    """What memories of a space may be told apart by, the most frequent first."""

    sources: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
