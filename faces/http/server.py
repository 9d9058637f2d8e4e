"""The process of the service: what it is made of, and how it serves."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from muniment.faces.http.app import create_app
from muniment.faces.http.request_log import start_log
from muniment.faces.http.service import Service
from muniment.faces.mcp.deferred import DeferredEndpoint, make_endpoint
from muniment.faces.serving.process import (
    forbid_core_files as forbid_core_files,  # noqa: PLC0414 - for the command
    listen_on as listen_on,  # noqa: PLC0414 - for the command
    serve_application,
)
from muniment.faces.serving.rate_limit import RateLimits, StreamLimits
from muniment.memory.bootstrap import Tokens
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings

if TYPE_CHECKING:
    from muniment.faces.http.tracing import Tracing  # imported only where it is configured


def create_service(
    settings: Settings,
    memory: Memory,
    tokens: Tokens,
    worker: asyncio.Task[None] | None = None,
    tracing: Tracing | None = None,
) -> Service:
    """Return the service over this memory and these tokens; it is ready as long as the worker runs, where there is
    one."""
    rules = settings.serve
    return Service(
        memory=memory,
        tokens=tokens,
        settings=settings,
        limits=RateLimits(rules.requests_per_second, rules.burst),
        streams=StreamLimits(rules.streams),
        worker=worker,
        tracing=tracing,
    )


async def serve_requests(
    service: Service, listener: socket.socket, mounts: Mapping[str, ASGIApp] = MappingProxyType({})
) -> None:
    """Answer requests until SIGTERM or Ctrl-C, those below a path of `mounts` by that application. Then it is not
    ready, ends what is under way, and returns."""
    rules = service.settings.serve
    mcp = DeferredEndpoint(partial(make_endpoint, service.memory, service.tokens.key, service.ending))
    start_log()
    async with mcp.run():
        await serve_application(
            create_app(service, mcp, mounts),
            listener,
            service.ending,
            notice_seconds=rules.notice_seconds,
            drain_seconds=rules.drain_seconds,
        )
