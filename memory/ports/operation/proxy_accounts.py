"""The port of accounts: what the exchanges of tokens come to, in the space of each token's tenant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Protocol
from uuid import UUID

from muniment.memory.domain.scope import Scope
from muniment.memory.domain.tokens.usage import ProxyDay


class ProxyAccountStore(Protocol):
    """The days of all tokens."""

    async def add_days(self, days: Mapping[Scope, Sequence[ProxyDay]]) -> None:
        """Add to the days of tokens, by the scope of each token's tenant, in one transaction."""
        ...

    async def list_days(self, token_id: UUID | None, since: date) -> Sequence[ProxyDay]:
        """Return the days of a token or of all since a day, the latest first. For the owner of the tables only."""
        ...
