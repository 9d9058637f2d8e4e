"""`proxy start`: serve the proxy of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands.proxy.extra import Folder, require_extra

_MAX_PORT = 65_535


def start_proxy(
    folder: Folder = Path(),
    host: Annotated[
        str | None, typer.Option("--host", metavar="ADDRESS", help="Where to listen, in place of MEMORY_BRIDGE_HOST.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", "-p", metavar="N", min=0, max=_MAX_PORT, help="In place of MEMORY_BRIDGE_PORT; 0: any."),
    ] = None,
) -> None:
    """Serve the proxy of a folder, with a worker inside: the embedded database starts by itself.

    SIGTERM or Ctrl-C ends it: what is under way is answered, what was said is stored, and it exits with 0. Exit code 8:
    `init` was interrupted; 9: the folder is not made yet; 10: the template is missing or has no place for memories.

    For example:

      muniment proxy start

      muniment proxy start agents/proxy --port 9000
    """
    with require_extra():
        # The extra brings the web server: nothing for the other commands to wait for, or to need.
        from muniment.faces.proxy.host.start import start_proxy as start  # noqa: PLC0415 - slow to import, and in an extra
    session.run_async(start(folder, host, port))
