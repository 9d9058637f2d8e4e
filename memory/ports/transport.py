"""The port of a connection over HTTP to one service."""

from __future__ import annotations

from typing import Protocol

from muniment.memory.domain.gateway.exchange import HttpAnswer, HttpFailure, HttpRequest


class Transport(Protocol):
    """Sends requests, each once: within a time for the whole of it, and up to a size of the answer. It follows no
    redirect and keeps no cookie, and what fails holds nothing of the request."""

    async def send_request(self, request: HttpRequest) -> HttpAnswer | HttpFailure:
        """Return the answer, or why there is none. Raises CancelledError alone."""
        ...

    async def is_reachable(self, url: str) -> bool:
        """Whether an address answers anything at all in time."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
