"""`skills`: how things are done, as an agent has found out - proposed, published or rejected - and as files."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.skills.export_folder import export_skills
from muniment.faces.cli.commands.skills.list import list_skills, show_skill
from muniment.faces.cli.commands.skills.review import publish_skill, reject_skill

app = typer.Typer(
    help="How things are done, as agents have found out: what waits for your review.", no_args_is_help=True
)
app.command("list")(list_skills)
app.command("show")(show_skill)
app.command("publish")(publish_skill)
app.command("reject")(reject_skill)
app.command("export")(export_skills)
