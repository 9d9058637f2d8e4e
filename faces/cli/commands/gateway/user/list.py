"""`gateway user list`: who has a key, without the keys."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.faces.cli import session
from muniment.faces.cli.commands.gateway.user import keys
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.scope import Grant


def list_users(as_json: AsJson = False) -> None:
    """List the users with their keys, revoked ones too, newest first. No key is shown.

    For example:

      muniment gateway user list
    """
    settings = load_settings()

    async def work() -> Sequence[Grant]:
        async with session.open_tokens(settings, quiet=as_json) as tokens:
            return await keys.list_keys(tokens, settings)

    grants = session.run_async(work())
    if as_json:
        screen.print_json([keys.encode_key(grant) for grant in grants])
    elif grants:
        terminal.print_table(["user", "id", "made", "until"], [_format_row(grant) for grant in grants], text_columns=0)
    else:
        terminal.print_hint("There are no users. Make one with `muniment gateway user create NAME`.")


def _format_row(grant: Grant) -> list[str]:
    until = f"{grant.expires_at:%Y-%m-%d}" if grant.expires_at else "-"
    if grant.revoked_at:
        until = f"revoked {grant.revoked_at:%Y-%m-%d}"
    return [grant.owner or "-", screen.shorten_id(grant.id), f"{grant.created_at:%Y-%m-%d}", until]
