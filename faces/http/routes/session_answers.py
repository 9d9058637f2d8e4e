"""The bodies of answers about sessions, as OpenAPI shows them. What is empty or not known is left out."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from muniment.memory.domain.layers.observation import Observation
from muniment.memory.domain.memory import Role, Trust
from muniment.memory.domain.turn import TurnKind


class SessionAnswer(BaseModel):
    """A session. What it does not have is left out."""

    id: str
    started_at: datetime
    last_at: datetime
    app: str | None = None
    project: str | None = None
    agent: str | None = None
    ended_at: datetime | None = None
    ended_why: str | None = None
    metadata: dict[str, Any]
    input_tokens: int
    output_tokens: int
    turns: int = Field(description="How many positions its events have.")
    built_to: int = Field(description="The position up to which memories were built.")
    own_retention: bool = Field(description="Whether it has days of its own; without `retention_days` for ever.")
    retention_days: int | None = None


class EventAnswer(BaseModel):
    """An event of a session."""

    id: UUID
    role: Role
    text: str
    at: datetime
    session: str | None = None
    thread: str | None = None
    actor: str | None = None
    source: Trust
    path: str | None = None
    tags: list[str] | None = None
    kind: TurnKind
    payload: dict[str, Any] | None = None
    visible: bool
    position: int | None = None
    score: float | None = Field(None, description="Of a search.")


class SessionsAnswer(BaseModel):
    """A page of sessions. `next` is the offset of the page that follows."""

    total: int
    offset: int
    next: int | None = None
    sessions: list[SessionAnswer]


class SessionRecordAnswer(BaseModel):
    """A session and its events in order, and what was found in them."""

    session: SessionAnswer
    turns: list[EventAnswer]
    observations: list[Observation]


class FoundTurnsAnswer(BaseModel):
    """What a search has found, the best first."""

    results: list[EventAnswer]
