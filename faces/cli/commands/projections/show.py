"""`projections show`: all that is said in one slot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import projections as view, screen
from muniment.memory import codec
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.layers.projections import Projection


def show_slot(
    given: Annotated[str, typer.Argument(metavar="ID", help="Of a projection or of a memory in it, or its beginning.")],
    user: User = DEFAULT_USER,
    as_json: AsJson = False,
) -> None:
    """Show what every memory says in one slot, the active one in full. `muniment history ID` has what a memory said
    before.

    For example:

      muniment projections show 4f2a
    """
    settings = load_settings()
    scope = session.make_scope(settings, user)

    async def work() -> Sequence[Projection]:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.projections.list_slot(scope, given)

    slot = session.run_async(work())
    if as_json:
        screen.print_json([codec.encode_record(each) for each in slot])
    else:
        view.print_slot(slot)
