"""`embedder`: the model that turns texts into vectors."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.embedder.status import show_status
from muniment.faces.cli.commands.embedder.switch import switch_embedder

app = typer.Typer(help="The model that turns texts into vectors.", no_args_is_help=True)
app.command("switch")(switch_embedder)
app.command("status")(show_status)
