"""`projections`: what the memories say slot by slot - the profile, the episodes, the skills - and making that anew."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.projections.list import list_conflicts, list_projections
from muniment.faces.cli.commands.projections.rebuild import rebuild_projections
from muniment.faces.cli.commands.projections.show import show_slot

app = typer.Typer(
    help="What the memories say slot by slot: the profile, the episodes, the skills.", no_args_is_help=True
)
app.command("list")(list_projections)
app.command("show")(show_slot)
app.command("conflicts")(list_conflicts)
app.command("rebuild")(rebuild_projections)
