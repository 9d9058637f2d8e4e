"""The options `--user` and `--tenant`: whose spaces a switch of the embedder is of."""

from __future__ import annotations

from typing import Annotated

import typer

from muniment.faces.cli import options, session
from muniment.memory.config.settings import Settings
from muniment.memory.domain.embedding import DATABASE, SwitchRange
from muniment.memory.domain.tokens.config import find_token_id
from muniment.memory.errors import BadInput

SwitchUser = Annotated[str | None, typer.Option("--user", "-u", metavar="NAME", help="Only the memory of this user.")]
SwitchTenant = Annotated[
    str | None,
    typer.Option("--tenant", metavar="NAME", help="Only the memory of this tenant's users, present and new."),
]


def read_spaces(settings: Settings, user: str | None, tenant: str | None) -> SwitchRange:
    """The spaces as typed: of a user of MUNIMENT_TENANT, of a tenant, or all. Raises BadInput for both."""
    if user is not None and tenant is not None:
        raise BadInput("--user: goes without --tenant; MUNIMENT_TENANT is the tenant of the user")
    if user is not None:
        return SwitchRange.of_space(session.make_scope(settings, user))
    if tenant is not None and find_token_id(tenant) is not None:
        raise BadInput("--tenant: is that of a token, whose embedder `muniment proxy token update` changes")
    return DATABASE if tenant is None else SwitchRange(tenant=options.check_name(tenant, "--tenant"))


def format_spaces(spaces: SwitchRange) -> str:
    """The options that name these spaces, to be typed again."""
    if spaces.space is not None:
        return f" --user {spaces.space.owner}"
    return "" if spaces.tenant is None else f" --tenant {spaces.tenant}"
