"""`agent status`: which memories an agent has, and whether its gateway answers."""

from __future__ import annotations

from muniment.faces.cli import session
from muniment.faces.cli.commands.agent.chat import Config
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import load_settings


def show_status(config: Config = None, as_json: AsJson = False) -> None:
    """Show the memories of an agent: the mode and why, what is degraded, and whether its gateway answers.

    It asks the gateway for its health, without a key. No database is opened.

    For example:

      muniment agent status --config agent.json
    """
    settings = load_settings()
    # The client of a gateway takes its time to import.
    from muniment.graph.hybrid.runtime import read_status  # noqa: PLC0415

    status = session.run_async(read_status(settings, config))
    if as_json:
        screen.print_json(status)
    else:
        screen.print_fields({name: _format_value(value) for name, value in status.items() if value is not None})


def _format_value(value: object) -> object:
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else value
