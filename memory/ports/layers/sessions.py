"""The port of sessions: their rows, their turns in order, and the words of turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.layers.session import Session, SessionChange, SessionPage, SessionRequest, TurnHit
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn


class SessionStore(Protocol):
    """The sessions of a space. An agent's allowlist hides all of them."""

    async def list_sessions(self, scope: Scope, request: SessionRequest) -> SessionPage:
        """Return the sessions that a request asks for, the latest first."""
        ...

    async def get_session(self, scope: Scope, session: str) -> Session | None:
        """Return a session; None where there is none."""
        ...

    async def read_turns(self, scope: Scope, session: str, *, since: int, limit: int) -> list[Turn]:
        """Return turns of a session from a position on, in order; those without a position come last."""
        ...

    async def number_turns(self, scope: Scope, now: datetime) -> None:
        """Give a position to the turns of the space that have none, and a row to their sessions."""
        ...

    async def mark_built(self, scope: Scope, session: str, position: int) -> None:
        """Record that memories were built from the turns before a position; it never goes back."""
        ...

    async def end_session(self, scope: Scope, session: str, at: datetime, why: str) -> Session | None:
        """End a session and return it; one that has ended stays as it is. None where there is none."""
        ...

    async def change_session(self, scope: Scope, session: str, change: SessionChange) -> Session | None:
        """Change a session, and return it; None where there is none."""
        ...

    async def list_idle_spaces(self, before: datetime, limit: int) -> list[Scope]:
        """Return spaces with sessions that `list_idle` would return, of all tenants."""
        ...

    async def list_idle(self, scope: Scope, before: datetime, limit: int) -> list[str]:
        """Return sessions that go on although their last turn was said before then, or that have ended and have turns
        from which nothing was built."""
        ...

    async def list_unread_turns(self, scope: Scope, limit: int) -> list[Turn]:
        """Return turns whose words are not stored yet."""
        ...

    async def write_words(self, scope: Scope, words: Mapping[TurnId, Mapping[int, float]]) -> None:
        """Store the words of turns, as weights by dimension."""
        ...

    async def search_turns(
        self,
        scope: Scope,
        dimensions: Sequence[int],
        session: str | None,
        limit: int,
        *,
        app: str | None = None,
        unkept: bool = False,
    ) -> list[TurnHit]:
        """Return the turns with most of these words, the rare ones before the common ones, the latest first where they
        are equal; never an entry for an audit. Only of a session, or of the sessions of an application; None for all.
        With `unkept` only messages of which nothing was kept."""
        ...
