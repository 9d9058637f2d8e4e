"""`gateway`: the process that hosts of agents ask."""

from __future__ import annotations

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

_MAX_PORT = 65_535


def start_gateway(
    context: typer.Context,
    host: Annotated[
        str | None, typer.Option("--host", metavar="ADDRESS", help="Where to listen; else gateway.host.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", "-p", metavar="N", min=0, max=_MAX_PORT, help="Else gateway.port; 0 takes one that is free."
        ),
    ] = None,
    no_worker: Annotated[
        bool, typer.Option("--no-worker", help="Leave background jobs to `muniment work` elsewhere.")
    ] = False,
) -> None:
    """Serve the memory to hosts of agents over three routes, with a worker inside.

    POST /memories/search, /memories/add and /memories/flush have in their bodies the user and the key of
    `muniment gateway user create`. /health, /ready, /metrics and /openapi.json need none. SIGTERM or Ctrl-C ends it.

    For example:

      muniment gateway user create ana

      muniment gateway
    """
    if context.invoked_subcommand is not None:
        return
    settings = load_settings()
    try:
        # The extra brings the web framework: nothing for the other commands to wait for, or to need.
        from muniment.faces.http import server  # noqa: PLC0415 - in an extra
    except ModuleNotFoundError as error:
        raise BadConfig(f"gateway needs {error.name}: install muniment[serve]") from None
    rules = settings.gateway
    server.forbid_core_files()
    with contextlib.closing(server.listen_on(host or rules.host, rules.port if port is None else port)) as listener:
        session.run_async(_serve(settings, listener, with_worker=not no_worker))


async def _serve(settings: Settings, listener: socket.socket, *, with_worker: bool) -> None:
    # As above; the bootstrap brings the database's driver.
    from muniment.faces.gateway import server  # noqa: PLC0415 - in an extra
    from muniment.faces.http.server import create_service  # noqa: PLC0415 - in an extra
    from muniment.memory import bootstrap  # noqa: PLC0415 - slow to import

    async with (
        session.open_memory(settings, quiet=False) as memory,
        bootstrap.load_in_background(memory.engine.embedder),
        bootstrap.open_tokens(settings) as tokens,
        bootstrap.run_worker(settings, memory) if with_worker else contextlib.nullcontext() as worker,
        saver.schedule_pruning(memory.engine.settings, once=False) if with_worker else contextlib.nullcontext(),
    ):
        host, port = listener.getsockname()[:2]
        screen.print_stderr(f"muniment: http://{f'[{host}]' if ':' in host else host}:{port}")
        await server.serve_requests(create_service(memory.engine.settings, memory, tokens, worker), listener)
