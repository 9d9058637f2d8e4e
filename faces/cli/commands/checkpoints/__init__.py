"""`checkpoints`: the state of the threads, as LangGraph keeps it."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.checkpoints.migrate import migrate_checkpoints
from muniment.faces.cli.commands.checkpoints.prune import prune_checkpoints

app = typer.Typer(help="Prune the state of threads, or bring it from another saver.", no_args_is_help=True)
app.command("prune")(prune_checkpoints)
app.command("migrate")(migrate_checkpoints)
