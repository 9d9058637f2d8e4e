"""The port of chats: what an add, a flush and a recall have to know of a session's turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn


class ChatStore(Protocol):
    """The turns of a session beside what was kept of them. An agent's allowlist hides all of them."""

    async def read_end(self, scope: Scope, session: str, limit: int) -> list[Turn]:
        """Return the latest messages of a session, oldest first."""
        ...

    async def find_said_in(self, scope: Scope, session: str, memories: Sequence[MemoryId]) -> frozenset[MemoryId]:
        """Return those of the memories that were said in a session, there first or as well."""
        ...

    async def has_kept(self, scope: Scope, session: str, since: int, until: int) -> bool:
        """Whether something was kept of the turns of a session from position `since` on, before `until`."""
        ...
