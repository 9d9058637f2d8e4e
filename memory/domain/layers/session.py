"""Sessions: what was said and done under one id, and what a search finds in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from muniment.memory.domain.layers.observation import Observation
from muniment.memory.domain.turn import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session of a space.

    Its turns have the positions from 0 to `turns`; memories were built from those before `built_to`. It is kept for
    `retention_days` if it has days of its own, None for ever, and else for those of the settings."""

    id: str
    started_at: datetime
    last_at: datetime
    app: str | None = None
    project: str | None = None
    agent: str | None = None
    ended_at: datetime | None = None
    ended_why: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    turns: int = 0
    built_to: int = 0
    own_retention: bool = False
    retention_days: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionChange:
    """What changes of a session: members of its metadata, and with `own_retention` its days, None for ever."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    own_retention: bool = False
    retention_days: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRequest:
    """Which sessions are listed: those that go on or have ended, of a project or an application; None for all."""

    ended: bool | None = None
    project: str | None = None
    app: str | None = None
    limit: int = 100
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    """Some of the sessions that were asked for, the latest first, and how many there are."""

    sessions: tuple[Session, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A session with its turns in order, from a position on, and what was found in all of its turns."""

    session: Session
    turns: tuple[Turn, ...]
    observations: tuple[Observation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnHit:
    """A turn that a search has found; `score` is in (0, 1], by how many of the words it has and how rare they are."""

    turn: Turn
    score: float
