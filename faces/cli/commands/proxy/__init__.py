"""`proxy`: memory between any client and its model, over one address."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.proxy.init import initialize_proxy
from muniment.faces.cli.commands.proxy.start import start_proxy
from muniment.faces.cli.commands.proxy.token import app as token_app
from muniment.faces.cli.commands.proxy.usage import show_usage

app = typer.Typer(help="Memory between any OpenAI client and its model provider.", no_args_is_help=True)
app.command("init")(initialize_proxy)
app.command("start")(start_proxy)
app.add_typer(token_app, name="token")
app.command("usage")(show_usage)
