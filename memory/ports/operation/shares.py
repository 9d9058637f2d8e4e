"""The port of shares: who may read the space of a project or an agent beside their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from muniment.memory.domain.ids import SpaceId
from muniment.memory.domain.scope import Share


class ShareStore(Protocol):
    """The shares of all tenants, for an operator. A search asks for one share in its own transaction."""

    async def add_share(self, share: Share) -> Share:
        """Write a share and return it; one that exists stays as it is and is returned."""
        ...

    async def list_shares(self, tenant: str | None) -> Sequence[Share]:
        """Return the shares of a tenant or of all, by the owner of the space, newest first."""
        ...

    async def remove_share(self, shared: SpaceId, reader: SpaceId) -> Share | None:
        """Remove a share and return it; None where there is none."""
        ...
