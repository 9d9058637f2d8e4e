"""The ports of a bisection: a turn that can be made again, and the replies that were made."""

from __future__ import annotations

from collections.abc import Sequence, Set as AbstractSet
from datetime import datetime
from typing import Protocol
from uuid import UUID

from muniment.memory.domain.layers.bisection import ReplayAnswer, ReplayedTurn, ShownStatement
from muniment.memory.domain.scope import Scope


class TurnReplay(Protocol):
    """A turn that can be made again with some of what stood before the model. Nothing is learned or recorded."""

    @property
    def turn(self) -> ReplayedTurn:
        """The turn as it was."""
        ...

    async def make_reply(self, kept: AbstractSet[str], added: Sequence[ShownStatement] = ()) -> str:
        """Return the reply with the shown statements of these keys alone, and with `added` ones beside them.

        No tool runs: a call of the turn has its recorded result. Raises WentAnotherWay for another call, ModelError
        where the model gives no answer, OverBudget, StoreError."""
        ...


class ReplayStore(Protocol):
    """The replies of the bisections of a space, so that none is paid for twice."""

    async def list_answers(self, scope: Scope, bisection: UUID) -> Sequence[ReplayAnswer]:
        """Return the replies of a bisection."""
        ...

    async def keep_answer(self, scope: Scope, bisection: UUID, answer: ReplayAnswer, at: datetime) -> None:
        """Keep a reply; one that is kept for the same subset and attempt stays."""
        ...

    async def drop_answers(self, scope: Scope, bisection: UUID) -> None:
        """Remove the replies of a bisection."""
        ...
