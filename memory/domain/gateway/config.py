"""How the client of a memory gateway is configured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from muniment.memory.domain.gateway.user_key import UserKey

GatewayScope: TypeAlias = Literal["current_chat", "resources", "all_user_memory"]
SCOPES: tuple[GatewayScope, ...] = get_args(GatewayScope)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayConfig:
    """Where a gateway is, whose memory it is asked for, and how much of it.

    `base_url` has no slash at its end. `timeout_seconds` is the time of a whole request with its answer."""

    base_url: str
    user_id: str
    user_key: UserKey
    app_id: str = "default"
    project_id: str = "default"
    scope: tuple[GatewayScope, ...] = ("current_chat", "resources")
    top_k: int = 8
    timeout_seconds: float = 10.0
