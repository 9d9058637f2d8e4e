"""`token create`: a new token, which is shown once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from muniment.faces.cli import options, session
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory import codec
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.scope import Grant, Permission
from muniment.memory.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import SecretStr

_PERMISSIONS: tuple[str, ...] = get_args(Permission)
_MAX_DAYS = 3650


def create_token(
    tenant: Annotated[
        str | None, typer.Option("--tenant", metavar="NAME", help="Its tenant; else MUNIMENT_TENANT.")
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", "-u", metavar="NAME", help="For whom it speaks; else for no user by itself.")
    ] = None,
    agents: Annotated[
        list[str] | None, typer.Option("--agents", metavar="a,b", help="Only through these agents; else through all.")
    ] = None,
    scopes: Annotated[
        list[str] | None,
        typer.Option("--scopes", metavar="a,b", help="Of read, write, admin; else read,write. admin has all three."),
    ] = None,
    projects: Annotated[
        list[str] | None,
        typer.Option("--projects", metavar="a,b", help="Only the items of the plugin in these projects; else all."),
    ] = None,
    days: Annotated[
        int | None,
        typer.Option("--days", metavar="N", min=1, max=_MAX_DAYS, help="Valid for so many days; else until revoked."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token, and show it this once: only its digest is kept.

    For example:

      muniment token create --user ana --days 90

      muniment token create --tenant acme --user ana --agents supervisor --scopes read --json
    """
    settings = load_settings()
    owner = None if user is None else options.check_name(user, "--user")
    for_tenant = settings.tenant if tenant is None else options.check_name(tenant, "--tenant")
    through = options.split_list(agents, "--agents")
    for agent in through:
        options.check_agent(settings, agent, "--agents")
    of_projects = options.split_list(projects, "--projects")
    may = _check_permissions(options.split_list(scopes, "--scopes") or ("read", "write"))

    async def work() -> tuple[SecretStr, Grant]:
        async with session.open_tokens(settings, quiet=as_json) as tokens:
            return await tokens.issue_token(
                tenant=for_tenant, owner=owner, agents=through, projects=of_projects, scopes=may, days=days
            )

    token, grant = session.run_async(work())
    if as_json:
        screen.print_json({"token": token.get_secret_value(), **codec.encode_record(grant)})
        return
    screen.print_line(token.get_secret_value())
    terminal.print_hint("This is shown once. Keep it where its program alone reads it.")


def _check_permissions(names: Sequence[str]) -> tuple[Permission, ...]:
    """The permissions as typed. Raises BadInput for an unknown one."""
    for name in names:
        if name not in _PERMISSIONS:
            raise BadInput(f"--scopes: unknown scope {name!r}; allowed: {', '.join(_PERMISSIONS)}")
    return cast("tuple[Permission, ...]", tuple(dict.fromkeys(names)))
