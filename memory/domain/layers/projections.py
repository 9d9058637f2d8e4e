"""Projections: what memories say in the slots of a profile, among the episodes, and of what an agent can do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args
from uuid import UUID

from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.layers.observation import Observation
from muniment.memory.domain.memory import StoredMemory, Trust
from muniment.memory.domain.turn import Turn

# What a row is beside the other rows of its slot; the last three are states of its memory.
ProjectionStatus = Literal["active", "support", "conflict", "outranked", "pending", "rejected", "superseded"]
PROJECTION_STATUSES: tuple[ProjectionStatus, ...] = get_args(ProjectionStatus)


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """What one memory says in one slot, which is a type and a key. At most one of a slot is active.

    The active one names the active memories of its slot, its own first; another one names its own. `superseded_by` is
    the memory that took its place."""

    id: UUID
    type: str
    key: str
    memory: MemoryId
    status: ProjectionStatus
    title: str
    data: dict[str, Any]
    category: str
    trust: Trust
    memories: tuple[MemoryId, ...]
    rev: Revision
    at: datetime
    superseded_by: MemoryId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionRequest:
    """Which projections to list: of these types and statuses, of one key, of some memories, or of an id, of theirs or
    of their memory, that begins so; nothing given is all."""

    types: tuple[str, ...] = ()
    statuses: tuple[ProjectionStatus, ...] = ()
    key: str | None = None
    memories: tuple[MemoryId, ...] = ()
    beginning: str | None = None  # hexadecimal digits without dashes
    limit: int = 100
    offset: int = 0


def matches_request(projection: Projection, request: ProjectionRequest) -> bool:
    """Whether a request asks for a projection."""
    ids = (projection.id.hex, projection.memory.hex)
    return (
        (not request.types or projection.type in request.types)
        and (not request.statuses or projection.status in request.statuses)
        and request.key in (None, projection.key)
        and (not request.memories or projection.memory in request.memories)
        and (request.beginning is None or any(each.startswith(request.beginning) for each in ids))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """What a memory comes from, and what it is part of. Turns that are gone are missing."""

    turns: tuple[Turn, ...]
    observations: tuple[Observation, ...]
    memory: StoredMemory
    projections: tuple[Projection, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildResult:
    """What making the projections of a space anew came to: the rows before and after, and how many differ."""

    rev: Revision
    before: int
    after: int
    changed: int
