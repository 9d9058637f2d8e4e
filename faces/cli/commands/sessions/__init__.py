"""`sessions`: what was said, session by session."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.sessions.change import end_session, keep_session
from muniment.faces.cli.commands.sessions.read import list_sessions, search_sessions, show_session

app = typer.Typer(help="What was said, session by session.", no_args_is_help=True)
app.command("list")(list_sessions)
app.command("show")(show_session)
app.command("search")(search_sessions)
app.command("end")(end_session)
app.command("keep")(keep_session)
