"""Shares: granted, listed, and revoked by an operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muniment.memory.domain.scope import Scope, Share
from muniment.memory.errors import BadInput, NotFound
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.operation.shares import ShareStore


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shares:
    """Who may read the spaces of projects and agents beside their own. Each search asks the database: who is revoked
    reads nothing from the next search on."""

    store: ShareStore
    clock: Clock

    async def grant_share(self, shared: Scope, reader: Scope | None, *, by: str) -> Share:
        """Let an owner, or without one all of the tenant, read a space, and return the share; a grant again changes
        nothing.

        Raises BadInput for the space of a user, for another tenant, and for the own space, StoreError."""
        if shared.owner_type == "user":
            raise BadInput("the space of a user is not shared; allowed: project:NAME and agent:NAME")
        if reader is not None and (reader.tenant != shared.tenant or reader.space == shared.space):
            raise BadInput("a share is for another owner of the same tenant")
        return await self.store.add_share(Share(shared=shared, reader=reader, granted_by=by, since=self.clock.now()))

    async def revoke_share(self, shared: Scope, reader: Scope | None) -> Share:
        """Remove a share and return it. Raises NotFound, StoreError."""
        space = shared.tenant_space if reader is None else reader.space
        share = await self.store.remove_share(shared.space, space)
        if share is None:
            raise NotFound("there is no such share; `muniment share list` shows what there is")
        return share

    async def list_shares(self, tenant: str | None = None) -> Sequence[Share]:
        """Return the shares of a tenant or of all. Raises StoreError."""
        return await self.store.list_shares(tenant)
