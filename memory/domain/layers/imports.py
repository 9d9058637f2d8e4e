"""Records of other memories: what a file of another system holds, and what became of each record."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from muniment.memory.domain.memory import Role

# kept: new memories came to be. merged: only memories changed that there were already. known: nothing changed. learned:
# a message of which something is remembered. recorded: a message of which nothing is. refused: nothing is kept.
Fate = Literal["kept", "merged", "known", "learned", "recorded", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedMemory:
    """A memory as another system gives it. `key` tells it from the others of its `origin`, which names the system.

    From `ended_at` on it was not so any more."""

    place: str  # where it stands, such as `mem0.json, record 3`
    origin: str
    key: str
    text: str
    role: Role = "user"  # whose word it is
    at: datetime | None = None  # since when it is so
    ended_at: datetime | None = None
    tags: tuple[str, ...] = ()
    actor: str | None = None
    context: str | None = None  # the words around it, such as headings: help to find it
    owner: str | None = None  # the user, group or namespace that the source names


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedMessage:
    """A message of a conversation that another system has recorded."""

    place: str
    origin: str
    conversation: str
    key: str
    role: Role
    text: str
    at: datetime
    began_at: datetime  # the conversation
    owner: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OmittedRecord:
    """A record that its reader leaves out, with the reason."""

    place: str
    reason: str
    owner: str | None = None


ImportRecord: TypeAlias = ImportedMemory | ImportedMessage | OmittedRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOutcome:
    """What became of a record; a refusal has its reason, and so has a message of which nothing is remembered."""

    place: str
    fate: Fate
    reason: str = ""


@dataclass(slots=True, kw_only=True)
class ImportTotals:
    """How many records there were by fate and by reason, and the places of the first of each."""

    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    places: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def add(self, fate: str, reason: str, place: str) -> None:
        """Count a record."""
        key = (fate, reason)
        self.counts[key] = self.counts.get(key, 0) + 1
        if len(shown := self.places.setdefault(key, [])) < 10:
            shown.append(place)

    @property
    def total(self) -> int:
        """How many records were counted."""
        return sum(self.counts.values())
