"""How many sessions a token has: the one that was used longest ago ends where there are too many."""

from __future__ import annotations

from collections import OrderedDict
from uuid import UUID

_MAX_TOKENS = 10_000  # that are known; of the one that was used longest ago the sessions are no longer counted


class SessionCounts:
    """The sessions of each token, at most so many. One that ended by itself stays until others take its place."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._sessions: OrderedDict[UUID, OrderedDict[str, None]] = OrderedDict()

    def record_use(self, token: UUID, session: str) -> str | None:
        """Record that a token has used a session; return the one that has to end for it, None where there is room."""
        sessions = self._sessions.setdefault(token, OrderedDict())
        self._sessions.move_to_end(token)
        if len(self._sessions) > _MAX_TOKENS:
            self._sessions.popitem(last=False)
        sessions[session] = None
        sessions.move_to_end(session)
        return sessions.popitem(last=False)[0] if len(sessions) > self._most else None

    def forget_session(self, token: UUID, session: str) -> None:
        """Forget a session of a token that has ended; nothing where there is none."""
        self._sessions.get(token, OrderedDict()).pop(session, None)
