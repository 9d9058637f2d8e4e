"""How many things wait for a person, for the navigation of every page: counted anew only where a space has changed."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from uuid import UUID

from muniment.faces.http.access import Caller
from muniment.memory.domain.console.inbox import InboxCounts

_MAX_SPACES = 1_000


@dataclass(slots=True, eq=False)
class WaitingCounts:
    """The last counts of the spaces that were looked at lately."""

    _known: OrderedDict[UUID, InboxCounts] = field(default_factory=OrderedDict)

    async def count_waiting(self, caller: Caller) -> InboxCounts:
        """Return what waits for a user; nothing for a token of some agents, which may not decide. Raises StoreError."""
        if caller.grant.agents:
            return InboxCounts()
        space = caller.scope.space
        counts = await caller.service.memory.inbox.count_waiting(caller.scope, known=self._known.get(space))
        self._known[space] = counts
        self._known.move_to_end(space)
        if len(self._known) > _MAX_SPACES:
            self._known.popitem(last=False)
        return counts
