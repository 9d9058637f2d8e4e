"""`inbox`: what waits for a person, whatever its kind, and the answers."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.inbox.answer import edit_item, reject_item, take_item, undo_answer
from muniment.faces.cli.commands.inbox.list import list_waiting

app = typer.Typer(
    help="What waits for you, whatever its kind: the list, the answers, and taking them back.", no_args_is_help=True
)
app.command("list")(list_waiting)
app.command("yes")(take_item)
app.command("no")(reject_item)
app.command("edit")(edit_item)
app.command("undo")(undo_answer)
