"""Whether a gateway answers at all."""

from __future__ import annotations

import asyncio

import httpx2

from muniment.memory.domain.gateway.config import GatewayConfig
from muniment.memory.models.connections import make_empty_jar
from muniment.memory.models.gateway.library_log import silence_library

_MAX_SECONDS = 5.0  # a person waits


async def find_trouble(config: GatewayConfig) -> str | None:
    """Ask for `/health`, once, without a key. Returns None where there is an answer, `timeout` or `connection` else."""
    seconds = min(_MAX_SECONDS, config.timeout_seconds)
    async with httpx2.AsyncClient(cookies=make_empty_jar(), follow_redirects=False, timeout=None) as http:
        try:
            with silence_library():
                async with asyncio.timeout(seconds), http.stream("GET", f"{config.base_url}/health"):
                    return None
        except (TimeoutError, httpx2.TimeoutException):
            return "timeout"
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError):
            return "connection"
