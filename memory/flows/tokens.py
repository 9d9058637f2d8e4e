"""Tokens: made, listed, revoked, and looked up for each request."""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from pydantic import SecretBytes, SecretStr

from muniment.memory.domain.scope import Grant, Permission
from muniment.memory.errors import NotFound, Unauthorized
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.operation.tokens import TokenStore
from muniment.memory.rules.policy.tokens import SECRET_BYTES, format_token, hash_token, is_token

_CACHE_SPAN = timedelta(seconds=30)  # a revoked token is refused after so long at the latest
_MAX_CACHED = 10_000
_NO_TOKEN = ""  # whose digest no token has


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tokens:
    """The tokens of an installation. Only the holder has a token: here is its digest under the installation's key."""

    store: TokenStore
    clock: Clock
    key: SecretBytes
    _cached: OrderedDict[bytes, tuple[datetime, Grant]] = field(default_factory=OrderedDict, repr=False)

    async def issue_token(
        self,
        *,
        tenant: str,
        owner: str | None,
        agents: Sequence[str] = (),
        projects: Sequence[str] = (),
        scopes: Sequence[Permission] = ("read", "write"),
        days: int | None = None,
    ) -> tuple[SecretStr, Grant]:
        """Make a token, and return it with its grant: it is shown now or never. Raises StoreError."""
        token, now = format_token(secrets.token_bytes(SECRET_BYTES)), self.clock.now()
        grant = Grant(
            id=uuid4(),
            tenant=tenant,
            owner=owner,
            agents=tuple(agents),
            projects=tuple(projects),
            scopes=tuple(scopes),
            created_at=now,
            expires_at=None if days is None else now + timedelta(days=days),
        )
        await self.store.add_grant(grant, self._hash(token))
        return SecretStr(token), grant

    async def find_grant(self, token: SecretStr) -> Grant | None:
        """Return what a token permits; None for one that is unknown, revoked or expired.

        A grant is looked up again after 30 seconds, so that a revocation takes effect. Raises StoreError."""
        text = token.get_secret_value()
        if not is_token(text):
            return None
        digest, now = self._hash(text), self.clock.now()
        since, grant = self._cached.get(digest, (now - _CACHE_SPAN, None))
        if grant is None or not since <= now < since + _CACHE_SPAN:
            grant = await self.store.find_grant(digest)
            self._keep_grant(digest, now, grant)
        return grant if grant is not None and grant.is_valid(now) else None

    async def require_grant(self, token: SecretStr) -> Grant:
        """Return what a token permits. Raises Unauthorized for one that is unknown, revoked or expired, all alike,
        StoreError."""
        grant = await self.find_grant(token)
        if grant is None:
            raise Unauthorized
        return grant

    async def find_grant_of(self, owner: str, token: SecretStr) -> Grant | None:
        """Return what a token permits if it is this owner's; None for an unknown owner, another's token, and whatever
        `find_grant` refuses.

        Each refusal costs the same work, a digest and a look into the database, so that its time does not say which of
        the two was wrong. Raises StoreError."""
        text = token.get_secret_value()
        digest, now = self._hash(text if is_token(text) else _NO_TOKEN), self.clock.now()
        since, grant = self._cached.get(digest, (now - _CACHE_SPAN, None))
        is_fresh = grant is not None and since <= now < since + _CACHE_SPAN
        if not is_fresh or not _is_valid_for(grant, owner, now):
            grant = await self.store.find_grant(digest)
            self._keep_grant(digest, now, grant)
        return grant if _is_valid_for(grant, owner, now) else None

    async def is_valid(self, id_: UUID) -> bool:
        """Whether the token with this id is valid now: for what goes on later in its name. Raises StoreError."""
        return await self.store.is_valid(id_, self.clock.now())

    async def list_grants(self, tenant: str | None = None) -> Sequence[Grant]:
        """Return the grants of all tokens, or of a tenant's, newest first. Raises StoreError."""
        return await self.store.list_grants(tenant)

    async def revoke_token(self, id_: UUID) -> Grant:
        """Revoke a token for good. One that is revoked already stays so. Raises NotFound, StoreError."""
        grant = await self.store.revoke_grant(id_, self.clock.now())
        if grant is None:
            raise NotFound("there is no such token; `muniment token list` shows what there is", id=str(id_))
        self._cached.clear()
        return grant

    def _hash(self, token: str) -> bytes:
        return hash_token(self.key.get_secret_value(), token)

    def _keep_grant(self, digest: bytes, now: datetime, grant: Grant | None) -> None:
        self._cached.pop(digest, None)
        if grant is not None:
            self._cached[digest] = now, grant
            if len(self._cached) > _MAX_CACHED:
                self._cached.popitem(last=False)


def _is_valid_for(grant: Grant | None, owner: str, now: datetime) -> bool:
    owned = "" if grant is None or grant.owner is None else grant.owner
    is_owner = hmac.compare_digest(owned.encode("utf-8", "replace"), owner.encode("utf-8", "replace"))
    return grant is not None and grant.owner is not None and not grant.projects and is_owner and grant.is_valid(now)
