"""Opens the client of a memory gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from muniment.memory.domain.gateway.config import GatewayConfig
from muniment.memory.ports.gateway import Gateway


def create_gateway(config: GatewayConfig) -> Gateway:
    """Return a gateway over HTTP; nothing is sent before it is asked. Close it at the end."""
    from muniment.memory.models.gateway.client import GatewayClient  # noqa: PLC0415 - the HTTP library loads slowly

    return GatewayClient(config)


@asynccontextmanager
async def open_gateway(config: GatewayConfig) -> AsyncIterator[Gateway]:
    """Open a gateway over HTTP; leaving the context closes its connections. Nothing is sent before it is asked."""
    client = create_gateway(config)
    try:
        yield client
    finally:
        await client.close()
