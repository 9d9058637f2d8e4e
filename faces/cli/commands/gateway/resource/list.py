"""`gateway resource list`: the documents that were taken in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from muniment.faces.cli import session
from muniment.faces.cli.commands.gateway.resource.options import App, Project, User, make_scope
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory import codec
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.layers.resources import Resource
from muniment.memory.domain.scope import GATEWAY_DEFAULT


def list_resources(
    user: User, app: App = GATEWAY_DEFAULT, project: Project = GATEWAY_DEFAULT, as_json: AsJson = False
) -> None:
    """List the documents that were taken in for a user: statements, those that wait for a yes, and the last change.

    For example:

      muniment gateway resource list --user ana --app helpdesk
    """
    settings = load_settings()
    scope = make_scope(settings, user, app, project)

    async def work() -> Sequence[Resource]:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.resources.list(scope)

    found = session.run_async(work())
    if as_json:
        screen.print_json({"user": scope.owner, "resources": [codec.encode_value(asdict(each)) for each in found]})
    elif found:
        rows = [[each.statements, each.waiting, f"{each.changed_at:%Y-%m-%d %H:%M}", each.uri] for each in found]
        terminal.print_table(["statements", "waiting", "changed (UTC)", "resource"], rows)
    else:
        terminal.print_hint("Nothing was taken in yet: muniment gateway resource add FILE --user NAME")
