"""`token list`: the tokens, without what a program shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from muniment.faces.cli import options, session
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory import codec
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.scope import Grant

if TYPE_CHECKING:
    from collections.abc import Sequence


def list_tokens(
    tenant: Annotated[
        str | None, typer.Option("--tenant", metavar="NAME", help="Only those of this tenant; else all.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the tokens, newest first, with what each permits. No token is shown.

    For example:

      muniment token list --tenant acme
    """
    settings = load_settings()
    of_tenant = None if tenant is None else options.check_name(tenant, "--tenant")

    async def work() -> Sequence[Grant]:
        async with session.open_tokens(settings, quiet=as_json) as tokens:
            return await tokens.list_grants(of_tenant)

    grants = session.run_async(work())
    if as_json:
        screen.print_json([codec.encode_record(grant) for grant in grants])
    elif grants:
        columns = ["id", "tenant", "user", "agents", "projects", "scopes", "made", "until"]
        terminal.print_table(columns, [_format_row(grant) for grant in grants])
    else:
        terminal.print_hint("There are no tokens. Make one with `muniment token create --user NAME`.")


def _format_row(grant: Grant) -> list[str]:
    until = f"{grant.expires_at:%Y-%m-%d}" if grant.expires_at else "-"
    if grant.revoked_at:
        until = f"revoked {grant.revoked_at:%Y-%m-%d}"
    agents = ",".join(grant.agents) or "all"
    made = f"{grant.created_at:%Y-%m-%d}"
    projects, scopes = ",".join(grant.projects) or "all", ",".join(grant.scopes)
    return [screen.shorten_id(grant.id), grant.tenant, grant.owner or "-", agents, projects, scopes, made, until]
