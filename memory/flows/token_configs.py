"""Tokens that bring their own models: registered, changed, shown, deleted, and looked up for each request."""

from __future__ import annotations

import hmac
import json
import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from pydantic import SecretBytes, SecretStr

from muniment.memory.domain.scope import Grant, Scope
from muniment.memory.domain.tokens.config import (
    BODIES,
    FIELDS,
    KEYS,
    TOKEN_OWNER,
    ConfiguredToken,
    EmbedderConfig,
    TokenConfig,
    TokenDetail,
    mask_secret,
    name_tenant,
)
from muniment.memory.errors import Conflict, NotFound, TokenConfigError
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.operation.token_configs import Sealer, StoredToken, TokenConfigRow, TokenConfigStore
from muniment.memory.rules.policy.tokens import SECRET_BYTES, format_token, hash_token, is_token

_ATTEMPTS = 10  # to change a configuration that others change, too
_MAX_FORMERS = 3  # embedders that a memory may still have vectors of
_HINT_CHARS = 4
_MAX_OPENED = 256  # tokens that are kept as they were opened
_UNKNOWN = "there is no such token; `muniment proxy token list` shows what there is"
_SWITCHING = "the embedder of this token was changed before, and its memory is embedded anew: wait until that is done"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TokenConfigs:
    """The tokens with a configuration. Only the holder has a token: here is its digest, and its keys are sealed.

    `offline_embedder` is the name of the embedder of tokens that say `offline`."""

    store: TokenConfigStore
    sealer: Sealer
    clock: Clock
    key: SecretBytes
    offline_embedder: str
    _opened: OrderedDict[UUID, tuple[StoredToken, ConfiguredToken]] = field(default_factory=OrderedDict, repr=False)

    async def find_token(self, token: SecretStr) -> ConfiguredToken | None:
        """Return a token with its configuration, looked up anew each time; None for one that is unknown, revoked or
        expired.

        Raises TokenConfigError for a configuration that is not valid, StoreError."""
        text = token.get_secret_value()
        if not is_token(text):
            return None
        digest = self._hash(text)
        stored = await self.store.find_token(digest)
        if stored is None or not hmac.compare_digest(stored.digest, digest):
            return None
        return self._open_token(stored) if stored.grant.is_valid(self.clock.now()) else None

    async def find_by_id(self, id_: UUID) -> ConfiguredToken | None:
        """Return a token by its id, for jobs of its memory; None for one that is unknown, revoked, expired, or without
        a configuration. Raises TokenConfigError, StoreError."""
        stored = await self.store.find_by_id(id_)
        if stored is None or stored.row is None or not stored.grant.is_valid(self.clock.now()):
            return None
        return self._open_token(stored)

    async def register(self, fields: Mapping[str, Any]) -> tuple[SecretStr, ConfiguredToken]:
        """Make a token with this configuration, and return both: the token is shown now or never.

        Raises TokenConfigError that names the bad field, StoreError."""
        config = TokenConfig.parse(_check_names({"memory_place": "system"} | dict(fields)))
        id_, token = uuid4(), format_token(secrets.token_bytes(SECRET_BYTES))
        grant = Grant(
            id=id_,
            tenant=name_tenant(id_),
            owner=TOKEN_OWNER,
            agents=(),
            scopes=("read", "write"),
            created_at=self.clock.now(),
        )
        row = self._close_row(id_, config, (), hint=token[-_HINT_CHARS:], revision=1)
        await self.store.add_token(grant, self._hash(token), row, self.name_embedder(config.embedder))
        return SecretStr(token), ConfiguredToken(grant=grant, config=config)

    async def list(self) -> Sequence[TokenDetail]:
        """Return all tokens with a configuration, newest first, with masked keys. Raises StoreError."""
        return [self._describe_token(stored) for stored in await self.store.list_tokens()]

    async def get(self, id_: UUID) -> TokenDetail:
        """Return one token with masked keys. Raises NotFound, StoreError."""
        return self._describe_token(await self._require_token(id_))

    async def update(self, id_: UUID, fields: Mapping[str, Any]) -> TokenDetail:
        """Change the named fields; the others stay. The configuration that comes out is checked whole.

        Another embedder is used as soon as the memory is embedded anew, which a job does; until then the former one
        answers. Raises NotFound, TokenConfigError, Conflict while a third embedder would begin, StoreError."""
        _check_names(fields)
        for _ in range(_ATTEMPTS):
            stored = await self._require_token(id_)
            if await self._update_once(stored, fields):
                return await self.get(id_)
        raise Conflict("the token is being changed by others; try again")

    async def drop_formers(self, token: ConfiguredToken) -> None:
        """Forget the former embedders of a token whose memory has the embedder of this configuration. Where that is
        not the token's any more they stay. Raises TokenConfigError, StoreError."""
        for _ in range(_ATTEMPTS):
            now = await self.find_by_id(token.grant.id)
            if now is None or now.config is None or token.config is None:
                return
            if self.name_embedder(now.config.embedder) != self.name_embedder(token.config.embedder):
                return
            if not now.formers or await self.store.drop_formers(token.grant.id, now.revision):
                return

    async def rotate(self, id_: UUID) -> tuple[SecretStr, TokenDetail]:
        """Put a new token in the place of one, with the same configuration and memory; the former one is refused from
        now on. Raises NotFound, StoreError."""
        await self._require_token(id_)
        token = format_token(secrets.token_bytes(SECRET_BYTES))
        if not await self.store.replace_digest(id_, self._hash(token), token[-_HINT_CHARS:]):
            raise NotFound(_UNKNOWN)
        return SecretStr(token), await self.get(id_)

    async def revoke(self, id_: UUID) -> Scope:
        """Revoke a token and keep its configuration; return the scope of its memory, which is to be erased: that
        removes both. May be repeated. Raises NotFound, StoreError."""
        await self._require_token(id_)
        grant = await self.store.revoke_grant(id_, self.clock.now())
        if grant is None:
            raise NotFound(_UNKNOWN)
        return ConfiguredToken(grant=grant, config=None).scope.owner_scope

    async def delete(self, id_: UUID) -> Grant:
        """Revoke a token, and delete its configuration with the keys. The memory stays. Raises NotFound, StoreError."""
        grant = await self.store.delete_config(id_, self.clock.now())
        if grant is None:
            raise NotFound(_UNKNOWN)
        return grant

    def name_embedder(self, embedder: EmbedderConfig) -> str:
        """Return the name that is stored beside the vectors of a token's embedder."""
        return embedder.name if embedder.is_own else self.offline_embedder

    async def _require_token(self, id_: UUID) -> StoredToken:
        stored = await self.store.get_token(id_)
        if stored is None:
            raise NotFound(_UNKNOWN)
        return stored

    async def _update_once(self, stored: StoredToken, given: Mapping[str, Any]) -> bool:
        id_, row = stored.grant.id, _require_row(stored)
        present = self._read_fields(id_, row, strict=False)
        config = TokenConfig.parse(present | dict(given))
        name, former = self.name_embedder(config.embedder), _find_embedder(present)
        former_name = None if former is None else self.name_embedder(former)
        formers = {self.name_embedder(each): each for each in self._read_formers(id_, row, strict=False)}
        if former is not None and former_name is not None:
            formers[former_name] = former
        formers.pop(name, None)
        if name != former_name and len(formers) > _MAX_FORMERS:
            raise Conflict(_SWITCHING)
        new = self._close_row(id_, config, tuple(formers.values()), hint=row.hint, revision=row.revision + 1)
        return await self.store.update_config(id_, new, model=name if name != former_name else None)

    def _open_token(self, stored: StoredToken) -> ConfiguredToken:
        """Return the token of what is stored, unsealed and checked; what is stored as before was checked before."""
        id_, row = stored.grant.id, stored.row
        if row is None:
            return ConfiguredToken(grant=stored.grant, config=None)
        before, token = self._opened.get(id_, (None, None))
        if token is None or before != stored:
            config = TokenConfig.parse(self._read_fields(id_, row))
            formers = self._read_formers(id_, row)
            token = ConfiguredToken(grant=stored.grant, config=config, formers=formers, revision=row.revision)
            self._opened[id_] = stored, token
            if len(self._opened) > _MAX_OPENED:
                self._opened.popitem(last=False)
        self._opened.move_to_end(id_)
        return token

    def _read_fields(self, id_: UUID, row: TokenConfigRow, *, strict: bool = True) -> dict[str, Any]:
        """The fields with the keys in the clear; unless `strict`, without keys that cannot be unsealed."""
        keys = self._unseal(row.sealed_keys, id_, strict=strict)
        return {**row.fields, **{name: keys.get(name) for name in KEYS}}

    def _read_formers(self, id_: UUID, row: TokenConfigRow, *, strict: bool = True) -> tuple[EmbedderConfig, ...]:
        told = self._unseal(row.sealed_formers, id_, strict=strict)
        return tuple(EmbedderConfig.parse(each) for each in told.get("formers", ()))

    def _unseal(self, sealed: bytes | None, id_: UUID, *, strict: bool) -> Mapping[str, Any]:
        if sealed is None:
            return {}
        try:
            told: Mapping[str, Any] = json.loads(self.sealer.unseal(sealed, id_))
        except TokenConfigError:
            if strict:
                raise
            return {}
        return told

    def _close_row(
        self, id_: UUID, config: TokenConfig, formers: Sequence[EmbedderConfig], *, hint: str, revision: int
    ) -> TokenConfigRow:
        values = config.encode_fields()
        keys = {name: values.pop(name) for name in KEYS}
        told = [each.encode_fields() for each in formers]
        return TokenConfigRow(
            fields=values,
            sealed_keys=self.sealer.seal(json.dumps(keys).encode(), id_),
            sealed_formers=self.sealer.seal(json.dumps({"formers": told}).encode(), id_) if told else None,
            hint=hint,
            revision=revision,
        )

    def _describe_token(self, stored: StoredToken) -> TokenDetail:
        id_, row, problem = stored.grant.id, _require_row(stored), None
        try:
            self._open_token(stored)
        except TokenConfigError as error:
            problem = str(error)
        shown = self._read_fields(id_, row, strict=False)
        return TokenDetail(
            grant=stored.grant,
            hint=row.hint,
            revision=row.revision,
            fields={name: mask_secret(shown[name]) if name in KEYS else _show_field(name, shown) for name in FIELDS},
            problem=problem,
            is_switching=row.sealed_formers is not None,
        )

    def _hash(self, token: str) -> bytes:
        return hash_token(self.key.get_secret_value(), token)


def _check_names(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raise TokenConfigError for a field that there is not; its name may be anything, so it is not repeated."""
    if set(fields) - set(FIELDS):
        raise TokenConfigError(f"a field is unknown; allowed: {', '.join(FIELDS)}", field=None)
    return fields


def _require_row(stored: StoredToken) -> TokenConfigRow:
    if stored.row is None:
        raise NotFound(_UNKNOWN)
    return stored.row


def _find_embedder(fields: Mapping[str, Any]) -> EmbedderConfig | None:
    """The embedder of these fields; None for fields that make none."""
    try:
        return EmbedderConfig.parse(fields)
    except TokenConfigError:
        return None


def _show_field(name: str, shown: Mapping[str, Any]) -> Any:
    """A field as an administrator is shown it: a body as the object that it is."""
    value = shown.get(name)
    if name not in BODIES or not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
