"""The port of a memory gateway."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from muniment.memory.domain.gateway.wire import GatewayMessage, RecalledItem


class Gateway(Protocol):
    """A memory behind three routes. Search, add and flush send one request, once, and raise GatewayError where it
    fails."""

    async def search(self, conversation_id: str, query: str) -> list[RecalledItem]:
        """Return what the gateway finds in the configured scopes, best first, at most as many as are configured."""
        ...

    async def add(self, session_id: str, messages: Sequence[GatewayMessage]) -> None:
        """Append messages to a session, in their order."""
        ...

    async def flush(self, session_id: str) -> None:
        """Ask the gateway to learn from the messages of a session now."""
        ...

    async def check_reachable(self) -> bool:
        """Whether there is any answer to `GET /health`, within the configured time. It sends no key and raises
        nothing."""
        ...

    async def close(self) -> None:
        """Close the connections. No request can be sent after that."""
        ...
