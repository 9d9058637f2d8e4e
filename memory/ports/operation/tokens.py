"""The token port: what tokens permit. The tokens themselves are not kept, only their digests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from muniment.memory.domain.scope import Grant


class TokenStore(Protocol):
    """The grants of tokens by the digests of the tokens."""

    async def add_grant(self, grant: Grant, digest: bytes) -> None:
        """Write the grant of a new token."""
        ...

    async def find_grant(self, digest: bytes) -> Grant | None:
        """Return the grant of the token with this digest, revoked and expired ones included."""
        ...

    async def is_valid(self, id_: UUID, at: datetime) -> bool:
        """Whether the token with this id is neither revoked nor expired; False for an unknown id."""
        ...

    async def list_grants(self, tenant: str | None) -> Sequence[Grant]:
        """Return the grants of a tenant or of all, newest first."""
        ...

    async def revoke_grant(self, id_: UUID, at: datetime) -> Grant | None:
        """Revoke a token and return its grant; None for an unknown id. The first revocation stays."""
        ...
