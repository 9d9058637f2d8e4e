"""Items of hosts: statements that a host keeps under ids of its own, and the memories to which these ids lead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias
from uuid import UUID

from muniment.memory.domain.ids import MemoryId, Revision

HostOutcome: TypeAlias = Literal["added", "updated", "known", "merged", "forgotten", "refused"]
DropReason: TypeAlias = Literal["expired", "no room"]  # why an item goes that nobody asked to be forgotten


@dataclass(frozen=True, slots=True, kw_only=True)
class HostItem:
    """Where the id of an item leads. Without a memory it leads nowhere any more.

    One that was forgotten stays forgotten: nothing that comes later under its id makes it again."""

    id: UUID
    memory: MemoryId | None
    digest: bytes
    is_forgotten: bool = False
    said: bytes = b""  # digest of its words: where those were forgotten under another id, nothing is written


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptHostItem:
    """What became of an item: the memory that says it, and the revision of the space then. `is_replayed`: it was
    there like this already, under the same id."""

    id: UUID
    outcome: HostOutcome
    memory: MemoryId | None = None
    reason: str | None = None
    rev: Revision = Revision(0)  # noqa: RUF009 - a NewType: the number itself
    is_replayed: bool = False
