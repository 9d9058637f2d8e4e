"""`plugin`: the memory of hosts by hooks, as it is set up, and policies compared on recorded sessions."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.plugin.outbox import show_outbox
from muniment.faces.cli.commands.plugin.replay import replay_sessions
from muniment.faces.cli.commands.plugin.status import show_status
from muniment.faces.cli.commands.plugin.sync import sync_file

app = typer.Typer(
    help="Memory for any host by three hooks: how it is set up, and what a policy would do.", no_args_is_help=True
)
app.command("status")(show_status)
app.command("replay")(replay_sessions)
app.command("outbox")(show_outbox)
app.command("sync")(sync_file)
