"""`token`: what programs show to say for whom they ask."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.token.create import create_token
from muniment.faces.cli.commands.token.list import list_tokens
from muniment.faces.cli.commands.token.revoke import revoke_token

app = typer.Typer(help="What a program shows to say for whom it asks.", no_args_is_help=True)
app.command("create")(create_token)
app.command("list")(list_tokens)
app.command("revoke")(revoke_token)
