"""`serve`: the memory as an HTTP service."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands.checkpoints import saver
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.errors import BadConfig

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from muniment.faces.http.tracing import Tracing
    from muniment.memory.bootstrap.console_sessions import ConsoleSessions

    Greeting = Callable[[str, ConsoleSessions], AbstractAsyncContextManager[None]]

_MAX_PORT = 65_535
GATEWAY_PATH = "/gateway"


def serve_memory(
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Where to listen; this machine alone unless told.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", metavar="N", min=0, max=_MAX_PORT, help="0 takes one that is free.")
    ] = 8377,
    no_worker: Annotated[
        bool, typer.Option("--no-worker", help="Leave background jobs to `muniment work` elsewhere.")
    ] = False,
) -> None:
    """Serve the memory over HTTP, with a worker inside. Every request shows a token of `muniment token create`.

    SIGTERM or Ctrl-C ends it: it is not ready any more, answers what is under way, writes what is buffered, and exits
    with 0. The description of the endpoints is at /openapi.json; /health, /ready and /metrics need no token.

    For example:

      muniment serve

      muniment serve --host 0.0.0.0 --port 80 --no-worker
    """
    run_service(load_settings(), host, port, with_worker=not no_worker)


def run_service(settings: Settings, host: str, port: int, *, with_worker: bool, greet: Greeting | None = None) -> None:
    """Serve the memory on an address of this machine until it is ended. `greet` gets the address and the logins of the
    console when a browser may come, and is left at the end. Raises BadConfig, StoreDown."""
    try:
        # The extra brings the web framework: nothing for the other commands to wait for, or to need.
        from muniment.faces.http import server  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise BadConfig(f"serve needs {error.name}: install muniment[serve]") from None
    server.forbid_core_files()
    with contextlib.closing(server.listen_on(host, port)) as listener:
        session.run_async(_serve(settings, listener, with_worker=with_worker, greet=greet))


def _open_tracing(settings: Settings) -> Tracing | None:
    if settings.serve.traces_url is None:
        return None
    try:
        # The extra brings OpenTelemetry: nothing for a service without it to load.
        from muniment.faces.http.tracing import Tracing  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise BadConfig(f"serve.traces_url needs {error.name}: install muniment[otel]") from None
    return Tracing(settings.serve.traces_url)


async def _serve(settings: Settings, listener: socket.socket, *, with_worker: bool, greet: Greeting | None) -> None:
    # As above; the bootstrap brings the database's driver.
    from muniment.faces.console import app as console  # noqa: PLC0415
    from muniment.faces.gateway.app import create_app  # noqa: PLC0415
    from muniment.faces.http import server  # noqa: PLC0415
    from muniment.memory import bootstrap  # noqa: PLC0415
    from muniment.memory.bootstrap.console_sessions import make_console_sessions  # noqa: PLC0415

    tracing = _open_tracing(settings)
    embedder = tracing.trace_embedder(bootstrap.make_embedder(settings)) if tracing is not None else None
    async with (
        contextlib.AsyncExitStack() as stack,
        session.open_memory(settings, quiet=False, embedder=embedder) as memory,
        bootstrap.load_in_background(memory.engine.embedder),
        bootstrap.open_tokens(settings) as tokens,
        bootstrap.run_worker(settings, memory) if with_worker else contextlib.nullcontext() as worker,
        saver.schedule_pruning(memory.engine.settings, once=False) if with_worker else contextlib.nullcontext(),
    ):
        if tracing is not None:
            stack.push_async_callback(asyncio.to_thread, tracing.close)
        host, port = listener.getsockname()[:2]
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        screen.print_stderr(f"muniment: {url}")
        service = server.create_service(memory.engine.settings, memory, tokens, worker, tracing)
        sessions = make_console_sessions(tokens)
        mounts = dict.fromkeys(console.PREFIXES, console.create_app(service, sessions))
        if memory.engine.settings.gateway.beside_serve:
            mounts[GATEWAY_PATH] = create_app(service)
        if greet is not None:
            await stack.enter_async_context(greet(url, sessions))
        await server.serve_requests(service, listener, mounts)
