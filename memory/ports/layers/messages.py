"""The port of messages: a session as one stream in which each message is once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn


class MessageStore(Protocol):
    """The messages of sessions. An agent's allowlist hides all of them."""

    async def append_messages(
        self,
        scope: Scope,
        session: str,
        messages: Sequence[tuple[Turn, bytes]],
        *,
        earlier: int,
        days: int | None,
        now: datetime,
        jobs: Sequence[Job] = (),
    ) -> list[TurnId]:
        """Append the messages, each with its hash, that the session does not have, and jobs to the queue, in one
        transaction. Returns the ids of those appended, in order.

        The first `earlier` messages are known if the session ever had them, the others if they are among its latest
        `KNOWN_MESSAGES`. The session is kept for so many days after each message, None for ever."""
        ...

    async def read_window(self, scope: Scope, session: str, size: int) -> list[Turn]:
        """Return the latest messages of a session, at most `size`, oldest first."""
        ...
