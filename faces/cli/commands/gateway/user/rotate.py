"""`gateway user rotate`: another key for a user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.faces.cli import session
from muniment.faces.cli.commands.gateway.user import keys
from muniment.faces.cli.options import AsJson
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.scope import Grant

if TYPE_CHECKING:
    from pydantic import SecretStr


def rotate_key(user: keys.User, as_json: AsJson = False) -> None:
    """Give a user another key, and show it this once. The former one ends within 30 seconds.

    For example:

      muniment gateway user rotate ana
    """
    settings, name = load_settings(), keys.check_user(user)

    async def work() -> tuple[SecretStr, Grant]:
        async with session.open_tokens(settings, quiet=as_json) as tokens:
            former = await keys.list_valid_keys(tokens, settings, name)
            made = await keys.issue_key(tokens, settings, name)
            await keys.revoke_keys(tokens, former)
            return made

    key, grant = session.run_async(work())
    keys.print_key(key, grant, as_json=as_json)
