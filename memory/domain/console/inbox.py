"""What waits for a person, and what a person has decided."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args
from uuid import UUID

from muniment.memory.domain.consent import Consent
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.turn import Turn

# A value for the profile; an instruction of a document or a tool; a way of working; a memory that perhaps replaces
# others; a slot in which memories that are trusted alike say different things.
InboxKind = Literal["consent", "instruction", "skill", "contradiction", "conflict"]
INBOX_KINDS: tuple[InboxKind, ...] = get_args(InboxKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxCounts:
    """How many of each kind wait, at a revision of a space that began at a time."""

    consent: int = 0
    instruction: int = 0
    skill: int = 0
    contradiction: int = 0
    conflict: int = 0
    rev: Revision = Revision(0)  # noqa: RUF009 - a NewType: the number itself
    founded_at: datetime | None = None

    @property
    def total(self) -> int:
        """How many wait."""
        return sum(self.count_kind(kind) for kind in INBOX_KINDS)

    def count_kind(self, kind: InboxKind) -> int:
        """Return how many of a kind wait."""
        count: int = getattr(self, kind)
        return count


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxItem:
    """One thing that waits. `id` is that of the request, of the memory that waits or perhaps replaces others, or of a
    projection in a disputed slot.

    `memories` are those that it is about: first the one that waits or is newer. `turns` are the latest turns that they
    come from, oldest first; turns that are gone are missing."""

    kind: InboxKind
    id: UUID
    at: datetime
    memories: tuple[StoredMemory, ...] = ()
    turns: tuple[Turn, ...] = ()
    request: Consent | None = None
    slot: str = ""  # the name of a disputed slot


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedItem:
    """One decision that can be taken back: what was decided by whom, with the text that it was about.

    `is_yes`: the request was granted, the memory taken, or one memory took the place of others."""

    kind: InboxKind
    id: UUID
    at: datetime
    is_yes: bool
    memory: MemoryId
    text: str
    field: str = ""  # of the profile, whose value the text is
    by: str = ""
