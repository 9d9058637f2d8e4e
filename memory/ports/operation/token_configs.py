"""The port of the tokens that bring their own models: their configurations, whose keys are sealed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from muniment.memory.domain.scope import Grant


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenConfigRow:
    """A configuration as it is stored: plain fields, sealed keys, and the former embedders, sealed too.

    `revision` grows by one with each change; `hint` is the end of the token, by which a person knows it."""

    fields: Mapping[str, Any] = field(repr=False)  # without the keys; bodies as JSON text
    sealed_keys: bytes | None = field(repr=False)
    sealed_formers: bytes | None = field(default=None, repr=False)
    hint: str
    revision: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredToken:
    """The grant of a token with its configuration, where it has one, and the digest that it was found by."""

    grant: Grant
    digest: bytes = field(repr=False)
    row: TokenConfigRow | None


class TokenConfigStore(Protocol):
    """The configurations of tokens. The issuer writes and lists them; the application finds one by a digest."""

    async def add_token(self, grant: Grant, digest: bytes, row: TokenConfigRow, model: str) -> None:
        """Write a token with its configuration, and `model` as the embedder of the token's tenant."""
        ...

    async def find_token(self, digest: bytes) -> StoredToken | None:
        """Return the token with this digest, revoked and expired ones included."""
        ...

    async def find_by_id(self, id_: UUID) -> StoredToken | None:
        """Return the token with this id, in the role of a worker: for jobs of its memory."""
        ...

    async def list_tokens(self) -> Sequence[StoredToken]:
        """Return all tokens with a configuration, newest first."""
        ...

    async def get_token(self, id_: UUID) -> StoredToken | None:
        """Return a token with a configuration; None for an unknown id, and for a token without one."""
        ...

    async def update_config(self, id_: UUID, row: TokenConfigRow, *, model: str | None) -> bool:
        """Replace the configuration whose revision is one less than the row's; False when it is another by now.

        `model` is the embedder's name where that changes: a tenant without vectors has it at once, and no former
        embedder; for another one the job that switches its memory is enqueued. All in one transaction."""
        ...

    async def drop_formers(self, id_: UUID, revision: int) -> bool:
        """Delete the former embedders of the configuration with this revision, in the role of a worker; False when it
        is another by now."""
        ...

    async def replace_digest(self, id_: UUID, digest: bytes, hint: str) -> bool:
        """Put another token in the place of one; False for an unknown id."""
        ...

    async def revoke_grant(self, id_: UUID, at: datetime) -> Grant | None:
        """Revoke a token and return its grant; None for an unknown id. The first revocation stays."""
        ...

    async def delete_config(self, id_: UUID, at: datetime) -> Grant | None:
        """Revoke the token and delete its configuration; None for an unknown id, or a token without one."""
        ...


class Sealer(Protocol):
    """Seals secrets under the key of the installation, each to one token."""

    def seal(self, plain: bytes, token_id: UUID) -> bytes:
        """Return what only this key and this id open again."""
        ...

    def unseal(self, sealed: bytes, token_id: UUID) -> bytes:
        """Return what was sealed. Raises TokenConfigError for another key, another token or damage."""
        ...
