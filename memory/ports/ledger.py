"""What the ledger of turns offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn


class WorkLedger(Protocol):
    """The part of a store that knows what was done."""

    async def list_work_turns(self, scope: Scope, *, limit: int) -> list[Turn]:
        """The latest turns of the scope's thread by a person or a tool, oldest first; none without a thread."""
        ...

    async def find_existing_turns(self, scope: Scope, turns: Sequence[TurnId]) -> frozenset[TurnId]:
        """Those of the turns that are in the ledger."""
        ...
