"""A request as the guard has let it in."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from muniment.memory.domain.tokens.config import ConfiguredToken, TokenConfig

Privacy = Literal["on", "read", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """One request of a token with a configuration. Nothing in it changes."""

    request_id: str
    method: str
    path: str
    raw_path: bytes  # as the client spelled it, from `/v1` on
    query: bytes = field(repr=False)
    headers: tuple[tuple[bytes, bytes], ...] = field(repr=False)
    body: bytes = field(repr=False)
    token: ConfiguredToken
    config: TokenConfig
    secret: str = field(repr=False)  # the token itself, which must not go upstream
    privacy: Privacy = "on"  # off: no memory; read: memory, and nothing is stored
    began: float  # by the monotonic clock
    lookup_seconds: float  # that finding the token took
    at: datetime
