"""`local`: the file of the plugin's local store."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.local.transfer import export_items, import_items

app = typer.Typer(help="The file in which the plugin keeps what it remembers on this machine.", no_args_is_help=True)
app.command("import")(import_items)
app.command("export")(export_items)
