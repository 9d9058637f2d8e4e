"""`curated`: the two files that an agent keeps."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.curated.check import check_files
from muniment.faces.cli.commands.curated.edit import edit_file
from muniment.faces.cli.commands.curated.show import show_files

app = typer.Typer(
    help="The two files that an agent keeps: what it has noted, and what it knows about you.", no_args_is_help=True
)
app.command("show")(show_files)
app.command("edit")(edit_file)
app.command("check")(check_files)
