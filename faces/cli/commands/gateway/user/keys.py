"""The keys of users: tokens like those of `muniment token`, for the gateway's agent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muniment.faces.cli.output import screen, terminal
from muniment.memory import codec
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Grant, Permission
from muniment.memory.errors import BadInput, NotFound

if TYPE_CHECKING:
    from pydantic import SecretStr

    from muniment.memory.bootstrap import Tokens

User = Annotated[str, typer.Argument(metavar="USER", help="1 to 128 of A-Z, a-z, 0-9 and _ . @ + -")]
PERMISSIONS: tuple[Permission, ...] = ("read", "write")
_USER = re.compile(r"[A-Za-z0-9_.@+-]{1,128}")


def check_user(user: str) -> str:
    """Return the name of a user. Raises BadInput: with a slash it would be that of a user in an application."""
    if not _USER.fullmatch(user):
        raise BadInput("USER: allowed are 1 to 128 of A-Z, a-z, 0-9 and _ . @ + -")
    return user


async def list_keys(tokens: Tokens, settings: Settings, user: str | None = None) -> list[Grant]:
    """Return the keys of a user or of all, newest first: tokens of a user for the gateway's agent alone, which may read
    and write. Raises StoreError."""
    return [
        grant
        for grant in await tokens.list_grants(settings.tenant)
        if grant.owner is not None
        and user in (None, grant.owner)
        and grant.agents == (settings.gateway.agent,)
        and grant.scopes == PERMISSIONS
    ]


async def list_valid_keys(tokens: Tokens, settings: Settings, user: str) -> list[Grant]:
    """Return the keys of a user that are valid, newest first. Raises NotFound for a user without one, StoreError."""
    now = datetime.now(UTC)
    keys = [grant for grant in await list_keys(tokens, settings, user) if grant.is_valid(now)]
    if not keys:
        raise NotFound(f"no user {user} has a key; `muniment gateway user list` shows who has")
    return keys


async def issue_key(tokens: Tokens, settings: Settings, user: str) -> tuple[SecretStr, Grant]:
    """Make a key for a user. Raises StoreError."""
    return await tokens.issue_token(
        tenant=settings.tenant, owner=user, agents=(settings.gateway.agent,), scopes=PERMISSIONS
    )


async def revoke_keys(tokens: Tokens, keys: Sequence[Grant]) -> list[Grant]:
    """Revoke keys for good, and return them as they are then. Raises StoreError."""
    return [await tokens.revoke_token(grant.id) for grant in keys]


def print_key(key: SecretStr, grant: Grant, *, as_json: bool) -> None:
    """Print a new key, which is shown this once."""
    if as_json:
        screen.print_json({"user_key": key.get_secret_value(), **encode_key(grant)})
        return
    screen.print_line(key.get_secret_value())
    terminal.print_hint("This is shown once. Keep it where the host of the agent alone reads it.")


def encode_key(grant: Grant) -> dict[str, Any]:
    """Return a key's record as JSON has it; the key itself is kept nowhere."""
    record = codec.encode_record(grant)
    return {
        "user_id": grant.owner,
        **{name: record.get(name) for name in ("id", "tenant", "created_at", "expires_at", "revoked_at")},
    }
