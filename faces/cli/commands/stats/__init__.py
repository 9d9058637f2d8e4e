"""`stats`: what was done, what it cost, and what the checkpoints take."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.checkpoints.sizes import show_sizes
from muniment.faces.cli.commands.stats.activity import show_activity
from muniment.faces.cli.commands.stats.legacy import show_legacy
from muniment.faces.cli.commands.stats.plugin import show_plugin
from muniment.faces.cli.commands.stats.spend import show_spend

app = typer.Typer()
app.callback(invoke_without_command=True)(show_activity)
app.command("spend")(show_spend)
app.command("legacy")(show_legacy)
app.command("plugin")(show_plugin)
app.command("checkpoints")(show_sizes)
