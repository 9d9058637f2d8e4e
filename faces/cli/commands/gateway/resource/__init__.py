"""`gateway resource`: documents that a user's searches find."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.gateway.resource.add import add_resource
from muniment.faces.cli.commands.gateway.resource.list import list_resources
from muniment.faces.cli.commands.gateway.resource.remove import remove_resource

app = typer.Typer(help="Documents that the searches of a user find.", no_args_is_help=True)
app.command("add")(add_resource)
app.command("list")(list_resources)
app.command("remove")(remove_resource)
