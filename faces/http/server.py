"""The process of the service: its socket, its signals, its end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import signal
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

import uvicorn

from muniment.faces.http.app import create_app
from muniment.faces.http.rate_limit import RateLimits, StreamLimits
from muniment.faces.http.request_log import start_log
from muniment.faces.http.service import Service
from muniment.faces.mcp.endpoint import McpEndpoint
from muniment.memory.bootstrap import Tokens
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.errors import BadInput

if TYPE_CHECKING:
    from muniment.faces.http.tracing import Tracing  # imported only where it is configured

_BACKLOG = 2048


class _Server(uvicorn.Server):
    """A server that leaves signals to this module: uvicorn would raise them again after its end."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def listen_on(host: str, port: int) -> socket.socket:
    """Return a socket that listens, before anything slow is opened. Raises BadInput for an address that is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small packets at once only where the protocol is named.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        why = "another process listens there" if error.errno == errno.EADDRINUSE else error.strerror or "no address"
        raise BadInput(f"--host {host} --port {port}: {why}; give another") from None
    return listener


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


async def serve_requests(service: Service, listener: socket.socket) -> None:
    """Answer requests until SIGTERM or Ctrl-C. Then it is not ready, ends what is under way, and returns."""
    rules, mcp = service.settings.serve, McpEndpoint(service.memory, service.tokens.key, service.ending)
    start_log()
    config = uvicorn.Config(
        create_app(service, mcp),
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="off",
        proxy_headers=False,
        timeout_graceful_shutdown=rules.drain_seconds,
    )
    server, stop = _Server(config), asyncio.Event()
    gc.collect()
    gc.freeze()  # what is loaded by now stays: no later collection goes through it while requests wait
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # a system without such signals; Ctrl-C cancels it then
            loop.add_signal_handler(number, stop.set)
    ending = asyncio.create_task(_end_on(stop, service, server))
    try:
        async with mcp.run():
            await server.serve(sockets=[listener])
    finally:
        ending.cancel()
        listener.close()


async def _end_on(stop: asyncio.Event, service: Service, server: uvicorn.Server) -> None:
    """Wait for the signal; say for a moment that the service is not ready, and end it."""
    await stop.wait()
    service.ending.set()
    await asyncio.sleep(service.settings.serve.notice_seconds)
    server.should_exit = True
