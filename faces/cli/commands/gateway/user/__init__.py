"""`gateway user`: who may ask the gateway, each with one key."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.gateway.user.create import create_user
from muniment.faces.cli.commands.gateway.user.list import list_users
from muniment.faces.cli.commands.gateway.user.revoke import revoke_user
from muniment.faces.cli.commands.gateway.user.rotate import rotate_key

app = typer.Typer(help="Who may ask the gateway, each with one key.", no_args_is_help=True)
app.command("create")(create_user)
app.command("list")(list_users)
app.command("rotate")(rotate_key)
app.command("revoke")(revoke_user)
