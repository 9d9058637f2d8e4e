"""The port of what waits for a person, and of what persons have decided."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from muniment.memory.domain.console.inbox import InboxCounts
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.journal import JournalEntry
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn


class InboxReads(Protocol):
    """Reads of a space for its owner, who sees every category."""

    async def count_waiting(self, scope: Scope, at: datetime, known: InboxCounts | None = None) -> InboxCounts:
        """Return how many things wait at this time. Where the space is as it was when the `known` counts were made,
        these are returned, and nothing is counted."""
        ...

    async def list_doubtful(self, scope: Scope, limit: int) -> Sequence[StoredMemory]:
        """Return the active memories that perhaps replace others that are active, the latest change first."""
        ...

    async def list_turns(self, scope: Scope, turns: Sequence[TurnId]) -> Sequence[Turn]:
        """Return those of the turns that are in the ledger, oldest first."""
        ...

    async def list_decisions(self, scope: Scope, decision: str | None, limit: int) -> Sequence[JournalEntry]:
        """Return the lines of the journal that say what a person decided or took back, newest first; with `decision`
        those of one thing. Of a long journal the latest part is looked at."""
        ...
