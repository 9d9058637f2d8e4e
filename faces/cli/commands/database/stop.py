"""`stop`: the embedded database ends."""

from __future__ import annotations

from muniment.faces.cli import session
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import load_settings


def stop_database(as_json: AsJson = False) -> None:
    """Stop the embedded database. Nothing is lost; the next command starts it again.

    For example:

      muniment stop
    """
    # See `migrate`.
    from muniment.memory import bootstrap  # noqa: PLC0415

    stopped = session.run_async(bootstrap.stop_server(load_settings()))
    if as_json:
        screen.print_json({"stopped": stopped})
    else:
        screen.print_line("Stopped." if stopped else "It was not running.")
