"""`proxy token`: tokens that bring their own models."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.proxy.token.create import create_token
from muniment.faces.cli.commands.proxy.token.delete import delete_token
from muniment.faces.cli.commands.proxy.token.list import list_tokens
from muniment.faces.cli.commands.proxy.token.rotate import rotate_token
from muniment.faces.cli.commands.proxy.token.show import show_token
from muniment.faces.cli.commands.proxy.token.update import update_token

app = typer.Typer(help="The tokens of programs, each with its endpoints and a memory of its own.", no_args_is_help=True)
app.command("create")(create_token)
app.command("list")(list_tokens)
app.command("show")(show_token)
app.command("update")(update_token)
app.command("rotate")(rotate_token)
app.command("delete")(delete_token)
