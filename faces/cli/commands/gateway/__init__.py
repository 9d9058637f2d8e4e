"""`gateway`: the memory behind three routes, its users and its resources."""

from __future__ import annotations

import typer

from muniment.faces.cli.commands.gateway.resource import app as resource_app
from muniment.faces.cli.commands.gateway.start import start_gateway
from muniment.faces.cli.commands.gateway.user import app as user_app

app = typer.Typer(callback=start_gateway, invoke_without_command=True)
app.add_typer(user_app, name="user")
app.add_typer(resource_app, name="resource")
