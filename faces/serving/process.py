"""The process of a face over HTTP: its socket, its signals, its end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import resource
import signal
import socket
from collections.abc import Iterator

import uvicorn
from starlette.types import ASGIApp

from muniment.faces.serving.head_limit import BoundedProtocol
from muniment.memory.errors import BadInput

_BACKLOG = 2048


class _Server(uvicorn.Server):
    """A server that leaves signals to this module: uvicorn would raise them again after its end."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def forbid_core_files() -> None:
    """Let the system write no core file of this process or of those that it starts: their memory holds keys."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


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


async def serve_application(
    app: ASGIApp, listener: socket.socket, ending: asyncio.Event, *, notice_seconds: float, drain_seconds: int
) -> None:
    """Answer requests until SIGTERM or Ctrl-C. Then `ending` is set, which says that no more are wanted; those that
    come for a moment yet are answered, what is under way gets its seconds, and the call returns."""
    config = uvicorn.Config(
        app,
        http=BoundedProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="off",
        proxy_headers=False,
        timeout_graceful_shutdown=drain_seconds,
    )
    server, stop = _Server(config), asyncio.Event()
    gc.collect()
    gc.freeze()  # what is loaded by now stays: no later collection goes through it while requests wait
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # a system without such signals; Ctrl-C cancels it then
            loop.add_signal_handler(number, stop.set)

    async def end_on_signal() -> None:
        await stop.wait()
        ending.set()
        await asyncio.sleep(notice_seconds)
        server.should_exit = True

    waiting = asyncio.create_task(end_on_signal())
    try:
        await server.serve(sockets=[listener])
    finally:
        waiting.cancel()
        listener.close()
