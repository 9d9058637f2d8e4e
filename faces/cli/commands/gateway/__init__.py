"""`gateway`: memory for agents over three HTTP routes."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.gateway.resource import app as resources

app = typer.Typer(help="Memory for agents over three HTTP routes.", no_args_is_help=True)
app.add_typer(resources, name="resource")
