"""`consent`: what waits for a person's yes - values of the profile, and memories that instruct - and the answers."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.consent.decide import approve, reject
from muniment.faces.cli.commands.consent.list import list_requests

app = typer.Typer(
    help="What waits for your yes: changes of your profile, and instructions found in somebody else's text.",
    no_args_is_help=True,
)
app.command("list")(list_requests)
app.command("approve")(approve)
app.command("reject")(reject)
