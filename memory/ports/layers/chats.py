"""The port of chats: what an add, a flush and a recall have to know of a session's turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn


class ChatStore(Protocol):
    """The turns of a session beside what was kept of them. An agent's allowlist hides all of them."""

    async def read_end(self, scope: Scope, session: str, limit: int) -> list[Turn]:
        """Return the latest messages of a session, oldest first."""
        ...

    async def find_of_session(self, scope: Scope, session: str, turns: Sequence[TurnId]) -> frozenset[TurnId]:
        """Return those of the turns that are of the session."""
        ...

    async def has_kept(self, scope: Scope, session: str, since: int, until: int) -> bool:
        """Whether something was kept of the turns of a session from position `since` on, before `until`."""
        ...
