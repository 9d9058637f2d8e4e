"""`gateway user revoke`: a user who may ask no more."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.faces.cli import session
from muniment.faces.cli.commands.gateway.user import keys
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.scope import Grant


def revoke_user(user: keys.User, as_json: AsJson = False) -> None:
    """Revoke the key of a user for good. Servers that run refuse it within 30 seconds; the memory stays.

    For example:

      muniment gateway user revoke ana
    """
    settings, name = load_settings(), keys.check_user(user)

    async def work() -> Sequence[Grant]:
        async with session.open_tokens(settings, quiet=as_json) as tokens:
            return await keys.revoke_keys(tokens, await keys.list_valid_keys(tokens, settings, name))

    grants = session.run_async(work())
    if as_json:
        screen.print_json([keys.encode_key(grant) for grant in grants])
    else:
        screen.print_line(f"revoked the key of {name}")
