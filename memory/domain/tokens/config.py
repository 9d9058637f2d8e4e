"""The configuration of a token: its models, endpoints and limits, checked whole when it is loaded."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal, Self
from uuid import UUID

from pydantic import SecretStr

from muniment.memory.domain.scope import Grant, Scope
from muniment.memory.domain.tokens.fields import MASK, FieldReader

PROXY_SESSION = "proxy"  # the one stream of what a token's programs say
TOKEN_OWNER = "token"  # noqa: S105 - the owner of a token's memory, within the tenant of the token
MAX_MEMORIES, MAX_WINDOW, MAX_DIMENSIONS = 100, 1_000, 16_000
KEYS = ("llm_api_key", "memory_llm_api_key", "embed_api_key")
BODIES = ("memory_llm_body", "embed_body")
_MAX_DAYS = 36_500
_SHOWABLE = 12  # characters of a secret from which on four of them say little
_TENANT = re.compile(r"token-([0-9a-f]{32})")


def _make_no_body() -> Mapping[str, Any]:
    return MappingProxyType({})


def name_tenant(token_id: UUID) -> str:
    """Return the tenant of a token with a configuration."""
    return f"token-{token_id.hex}"


def find_token_id(tenant: str) -> UUID | None:
    """Return the id of the token whose tenant this is; None for any other tenant."""
    match = _TENANT.fullmatch(tenant)
    return UUID(hex=match[1]) if match else None


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderConfig:
    """The embedder of a token: an endpoint of its own (`openai`), or the one that needs none (`offline`)."""

    provider: Literal["openai", "offline"]
    base_url: str | None = None
    api_key: SecretStr | None = None
    dims: int | None = None
    body: Mapping[str, Any] = field(default_factory=_make_no_body, repr=False)

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Self:
        """Return the embedder of a configuration's fields, as `TokenConfig.parse` reads them. Raises
        TokenConfigError."""
        reader = FieldReader(given)
        provider = reader.read_choice("embed_provider", ("openai", "offline"))
        if provider == "offline":
            return cls(provider="offline")
        return cls(
            provider="openai",
            base_url=reader.read_url("embed_base_url"),
            api_key=reader.read_secret("embed_api_key"),
            dims=reader.read_count("embed_dims", MAX_DIMENSIONS),
            body=reader.read_body("embed_body", without=("input",)),
        )

    def encode_fields(self) -> dict[str, Any]:
        """Return the fields that make it, with the key in the clear: for sealing alone."""
        return {
            "embed_provider": self.provider,
            "embed_base_url": self.base_url,
            "embed_api_key": _reveal(self.api_key),
            "embed_dims": self.dims,
            "embed_body": _encode_body(self.body),
        }

    @property
    def model(self) -> str:
        """The model's name at the endpoint; empty for the offline embedder."""
        return str(self.body.get("model", ""))

    @property
    def options(self) -> dict[str, Any]:
        """What else goes to the endpoint with each request."""
        return {key: value for key, value in self.body.items() if key != "model"}

    @property
    def is_own(self) -> bool:
        """Whether the vectors come from an endpoint that the token names."""
        return self.provider == "openai"

    @property
    def name(self) -> str:
        """The name that is stored beside the vectors of an endpoint: two endpoints with models of one name, or two
        bodies, have vectors that cannot be compared. A key is no part of it."""
        text = json.dumps([self.base_url, self.dims, dict(self.body)], sort_keys=True)
        return f"{self.model}@{hashlib.sha256(text.encode()).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenConfig:
    """What a token is configured with. Make it with `parse`, which checks it whole."""

    llm_base_url: str
    llm_api_key: SecretStr
    llm_model: str | None = None
    memory_llm_provider: Literal["openai", "rules"]
    memory_llm_base_url: str | None = None
    memory_llm_api_key: SecretStr | None = None
    memory_llm_body: Mapping[str, Any] = field(default_factory=_make_no_body, repr=False)
    embed_provider: Literal["openai", "offline"]
    embed_base_url: str | None = None
    embed_api_key: SecretStr | None = None
    embed_dims: int | None = None
    embed_body: Mapping[str, Any] = field(default_factory=_make_no_body, repr=False)
    memory_prompt: str | None = field(default=None, repr=False)
    memory_limit: int
    session_window_size: int
    memory_place: Literal["system", "user"] = "system"
    http_timeout: float | None = None
    memory_search_timeout: float | None = None
    memory_store_timeout: float | None = None
    history_days: int | None = None
    digest: bytes = field(default=b"", repr=False)  # of all fields: what makes a memory anew

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Self:
        """Return the configuration of these fields, as they are stored or sent: bodies as JSON text or objects, keys
        as text. What a provider does not use is left out.

        Raises TokenConfigError, which names the first bad field, the shape of its value and what is allowed."""
        reader = FieldReader(given)
        values: dict[str, Any] = {
            "llm_base_url": reader.read_url("llm_base_url"),
            "llm_api_key": reader.read_secret("llm_api_key"),
            "llm_model": reader.read_text("llm_model") if given.get("llm_model") is not None else None,
            "memory_llm_provider": reader.read_choice("memory_llm_provider", ("openai", "rules")),
            "memory_limit": reader.read_count("memory_limit", MAX_MEMORIES),
            "session_window_size": reader.read_count("session_window_size", MAX_WINDOW),
            "memory_place": reader.read_choice("memory_place", ("system", "user")),
        }
        if values["memory_llm_provider"] == "openai":
            values |= {
                "memory_llm_base_url": reader.read_url("memory_llm_base_url"),
                "memory_llm_api_key": reader.read_secret("memory_llm_api_key"),
                "memory_llm_body": reader.read_body("memory_llm_body", without=("messages", "stream")),
            }
        embedder = EmbedderConfig.parse(given)
        values |= {
            "embed_provider": embedder.provider,
            "embed_base_url": embedder.base_url,
            "embed_api_key": embedder.api_key,
            "embed_dims": embedder.dims,
            "embed_body": embedder.body,
        }
        if given.get("memory_prompt") is not None:
            values["memory_prompt"] = reader.read_text("memory_prompt")
        for name in ("http_timeout", "memory_search_timeout", "memory_store_timeout"):
            values[name] = reader.read_seconds(name) if given.get(name) is not None else None
        if given.get("history_days") is not None:
            values["history_days"] = reader.read_count("history_days", _MAX_DAYS)
        config = cls(**values)
        return replace(
            config, digest=hashlib.sha256(json.dumps(config.encode_fields(), sort_keys=True).encode()).digest()
        )

    @property
    def embedder(self) -> EmbedderConfig:
        """The part that makes the embedder."""
        return EmbedderConfig(
            provider=self.embed_provider,
            base_url=self.embed_base_url,
            api_key=self.embed_api_key,
            dims=self.embed_dims,
            body=self.embed_body,
        )

    def encode_fields(self) -> dict[str, Any]:
        """Return all fields as they are stored: keys in the clear, for sealing alone; bodies as JSON text."""
        values = {name: getattr(self, name) for name in FIELDS}
        return (
            values
            | {name: _reveal(values[name]) for name in KEYS}
            | {name: _encode_body(values[name]) for name in BODIES}
        )


FIELDS = tuple(each.name for each in fields(TokenConfig) if each.name != "digest")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredToken:
    """A token that is valid, with its configuration; without one it is a token for something else."""

    grant: Grant
    config: TokenConfig | None
    formers: tuple[EmbedderConfig, ...] = field(default=(), repr=False)  # in use until a switch of the embedder is over
    revision: int = 0  # of the configuration; grows with each change

    @property
    def scope(self) -> Scope:
        """Whose memory the token's programs have: the token's own."""
        return Scope(
            tenant=self.grant.tenant, owner=self.grant.owner or "", actor=self.grant.owner, session=PROXY_SESSION
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenDetail:
    """What an administrator is shown of a token: its fields with masked keys, the last characters of the token, and
    what is wrong with it, if anything is."""

    grant: Grant
    hint: str
    revision: int
    fields: Mapping[str, Any] = field(repr=False)
    problem: str | None = None
    is_switching: bool = False  # whether the former embedder answers while the memory is embedded anew


def mask_secret(secret: str | None) -> str | None:
    """Return stars and the last four characters, of a short secret only stars; None for none."""
    if secret is None:
        return None
    return MASK + (secret[-4:] if len(secret) >= _SHOWABLE else "")


def _reveal(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()


def _encode_body(body: Mapping[str, Any]) -> str | None:
    """A body as text; None for the empty one of a provider that has none."""
    return json.dumps(dict(body), ensure_ascii=False) if body else None
