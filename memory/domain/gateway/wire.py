"""What a gateway is sent and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Operation: TypeAlias = Literal["search", "add", "flush"]
# Why a request failed: `unauthorized` is the status 401, `http_error` any other that is no success, `encoded` a
# compressed answer, which was not asked for.
Category: TypeAlias = Literal[
    "timeout", "connection", "unauthorized", "http_error", "too_large", "encoded", "invalid_json", "invalid_shape"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledItem:
    """A result of a search, with what the gateway says of it; None is what it leaves out or says in another type."""

    id: str | None = None
    session_id: str | None = None
    text: str | None = None
    score: float | None = None
    source_scope: str | None = None
    resource_uri: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayMessage:
    """A message of a conversation. `timestamp` is in milliseconds since 1970 (UTC)."""

    sender_id: str
    role: Literal["user", "assistant"]
    timestamp: int
    content: str
