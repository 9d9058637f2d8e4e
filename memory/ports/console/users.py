"""The port of the picker of users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class UserReads(Protocol):
    """The users of a tenant who have a memory, for its operator."""

    async def find_users(self, tenant: str, part: str, limit: int) -> tuple[Sequence[str], int]:
        """Return the first `limit` names with this part in them, in any case, by the alphabet, and how many there
        are."""
        ...
