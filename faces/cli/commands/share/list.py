"""`share list`: who may read what beside their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from muniment.faces.cli import options, session
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.faces.cli.output.shares import encode_share
from muniment.memory.config.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muniment.memory.domain.scope import Share

_COLUMNS = ("tenant", "owner", "reader", "granted_by", "since")


def list_shares(
    tenant: Annotated[
        str | None, typer.Option("--tenant", metavar="NAME", help="Only those of this tenant; else all.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List who may read the memory of which project or agent, since when, and who has granted it.

    For example:

      muniment share list --tenant acme
    """
    settings = load_settings()
    of_tenant = None if tenant is None else options.check_name(tenant, "--tenant")

    async def work() -> Sequence[Share]:
        async with session.open_shares(settings, quiet=as_json) as shares:
            return await shares.list_shares(of_tenant)

    encoded = [encode_share(share) for share in session.run_async(work())]
    if as_json:
        screen.print_json(encoded)
    elif encoded:
        rows = [[*(one[name] for name in _COLUMNS[:-1]), one["since"][:10]] for one in encoded]
        terminal.print_table(["tenant", "memory of", "read by", "granted by", "since"], rows)
    else:
        terminal.print_hint("Nothing is shared. Share with `muniment share grant project:NAME user:NAME`.")
