"""`agent`: talk with an agent that has two memories, and see what it has."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.agent.chat import run_agent
from muniment.faces.cli.commands.agent.status import show_status

app = typer.Typer(help="Talk with an agent that has curated files, and a memory gateway beside them.")
app.callback(invoke_without_command=True)(run_agent)
app.command("status")(show_status)
