"""Requests for consent to changes of the structured profile, and decisions on them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, NewType
from uuid import UUID

from muniment.memory.domain.ids import MemoryId, TurnId
from muniment.memory.domain.memory import Trust

RequestId = NewType("RequestId", UUID)
ProfileField = Literal["preferred_name", "pronouns", "city", "language", "tone", "goals"]
Decision = Literal["pending", "approved", "rejected", "expired", "replaced", "withdrawn"]
SENSITIVE: frozenset[ProfileField] = frozenset({"preferred_name", "pronouns", "city", "language"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A value for a field of the structured profile, with the memory and the turns that it comes from."""

    field: ProfileField
    value: str
    memory: MemoryId
    turns: tuple[TurnId, ...]
    expires_at: datetime
    trust: Trust = "user"
    quiet: timedelta = timedelta(days=30)  # after a no, in which the same value is not asked about


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """A request to change the structured profile, with its decision. An approved one is the field's value."""

    id: RequestId
    field: ProfileField
    value: str
    decision: Decision
    memory: MemoryId
    asked_at: datetime
    expires_at: datetime
    turns: tuple[TurnId, ...] = ()  # each is a signal
    decided_at: datetime | None = None
    decided_by: str | None = None
    old: str | None = None  # the field's value when it was asked
