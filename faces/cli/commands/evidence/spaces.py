"""The options `--user` and `--all`: whose journals a command is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput

if TYPE_CHECKING:
    from muniment.memory.client import Memory

OnlyUser = Annotated[str | None, typer.Option("--user", "-u", metavar="NAME", help="Whose journal; else your own.")]
All = Annotated[bool, typer.Option("--all", help="The journals of all users, agents and projects of every tenant.")]


async def list_scopes(memory: Memory, settings: Settings, user: str | None, *, is_all: bool) -> Sequence[Scope]:
    """The spaces as typed. Raises BadInput for both options, StoreError."""
    if not is_all:
        return [session.make_scope(settings, DEFAULT_USER if user is None else user)]
    if user is not None:
        raise BadInput("--user: goes without --all")
    return await memory.admin.list_spaces()
