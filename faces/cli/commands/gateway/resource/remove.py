"""`gateway resource remove`: what a document states is forgotten."""

from __future__ import annotations

from typing import Annotated

import typer

from muniment.faces.cli import options, session
from muniment.faces.cli.commands.gateway.resource.options import App, Project, User, make_scope
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.layers.resources import ResourceReport
from muniment.memory.domain.scope import GATEWAY_DEFAULT


def remove_resource(
    uri: Annotated[str, typer.Argument(metavar="URI", help="As `gateway resource list` shows it.")],
    user: User,
    app: App = GATEWAY_DEFAULT,
    project: Project = GATEWAY_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Forget all that a document states. It is purged after write.soft_delete_days (30); the same document can be taken
    in again.

    For example:

      muniment gateway resource remove resource:handbook.pdf --user ana
    """
    settings = load_settings()
    scope, wanted = make_scope(settings, user, app, project), options.check_text(uri, "URI")

    async def work() -> ResourceReport:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.resources.remove(scope, wanted)

    report = session.run_async(work())
    if as_json:
        screen.print_json({"user": scope.owner, "uri": report.uri, "removed": report.removed, "rev": report.rev})
    else:
        screen.print_line(f"{report.uri}: {screen.format_count(report.removed, 'statement')} forgotten")
