"""The options by which the commands of resources name a memory of the gateway."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from muniment.faces.cli import options
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import GATEWAY_DEFAULT, Scope, make_gateway_scope
from muniment.memory.errors import BadInput

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")

User = Annotated[str, typer.Option("--user", "-u", metavar="NAME", help="The user of the gateway.")]
App = Annotated[str, typer.Option("--app", metavar="NAME", help="The app whose searches find it.")]
Project = Annotated[str, typer.Option("--project", metavar="NAME", help="The project whose searches find it.")]


def make_scope(settings: Settings, user: str, app: str = GATEWAY_DEFAULT, project: str = GATEWAY_DEFAULT) -> Scope:
    """Return the memory of a user in an app and a project. Raises BadInput for a name that cannot be one."""
    if "/" in options.check_name(user, "--user"):
        raise BadInput("--user: has a slash, which no user of the gateway has")
    for option, name in (("--app", app), ("--project", project)):
        if not _NAME.fullmatch(name):
            raise BadInput(f"{option}: 1 to 128 of A-Z, a-z, 0-9, _, . and - are allowed")
    return make_gateway_scope(user, app, project, tenant=settings.tenant)
