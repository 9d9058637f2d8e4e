"""`config`: the settings by stages, changed while processes run."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.config.history import show_history
from muniment.faces.cli.commands.config.set import change_settings
from muniment.faces.cli.commands.config.show import show_settings

app = typer.Typer(
    help="The settings of each stage, which running processes follow when they change.", no_args_is_help=True
)
app.command("show")(show_settings)
app.command("set", context_settings={"ignore_unknown_options": True})(change_settings)  # a value may be -1
app.command("history")(show_history)
