"""The port of the console's logins: digests of cookies, and the tokens that were shown for them."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol
from uuid import UUID

from muniment.memory.domain.scope import Grant


class ConsoleSessionStore(Protocol):
    """The sessions of browsers by the digests of their cookies."""

    async def open_session(self, digest: bytes, token_id: UUID, at: datetime, until: datetime) -> bool:
        """Write a session that ends at `until`, or with its token; False for a token that is not valid at `at`."""
        ...

    async def use_session(self, digest: bytes, at: datetime) -> Grant | None:
        """Return what the token of a session permits; None where the session or the token is over or unknown."""
        ...

    async def end_session(self, digest: bytes) -> None:
        """Remove a session; one that is unknown is ended already."""
        ...
