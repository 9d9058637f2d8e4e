"""`share`: who may read the memory of a project or an agent beside their own."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.share.change import grant_share, revoke_share
from muniment.faces.cli.commands.share.list import list_shares

app = typer.Typer(help="Who may read the memory of a project or an agent beside their own.", no_args_is_help=True)
app.command("grant")(grant_share)
app.command("revoke")(revoke_share)
app.command("list")(list_shares)
