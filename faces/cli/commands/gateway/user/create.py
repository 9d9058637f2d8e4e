"""`gateway user create`: a user with a key."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from muniment.faces.cli import session
from muniment.faces.cli.commands.gateway.user import keys
from muniment.faces.cli.options import AsJson
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.scope import Grant
from muniment.memory.errors import BadInput

if TYPE_CHECKING:
    from pydantic import SecretStr


def create_user(user: keys.User, as_json: AsJson = False) -> None:
    """Give a user a key, and show it this once: only its digest is kept.

    The memory of the user in the application and project `default` is that of `--user USER`.

    For example:

      muniment gateway user create ana

      muniment gateway user create ana --json
    """
    settings, name = load_settings(), keys.check_user(user)

    async def work() -> tuple[SecretStr, Grant]:
        async with session.open_tokens(settings, quiet=as_json) as tokens:
            now = datetime.now(UTC)
            if any(grant.is_valid(now) for grant in await keys.list_keys(tokens, settings, name)):
                raise BadInput(f"USER: {name} has a key; `muniment gateway user rotate {name}` makes another one")
            return await keys.issue_key(tokens, settings, name)

    key, grant = session.run_async(work())
    keys.print_key(key, grant, as_json=as_json)
