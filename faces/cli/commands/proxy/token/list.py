"""`proxy token list`: the tokens of programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from muniment.faces.cli import session
from muniment.faces.cli.commands.proxy.token import opening
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal

if TYPE_CHECKING:
    from muniment.memory.domain.tokens.config import TokenDetail


def list_tokens(folder: opening.Place = Path(), as_json: AsJson = False) -> None:
    """List the tokens with their endpoints, newest first, and what is wrong with one. No key and no token is shown.

    For example:

      muniment proxy token list
    """
    settings = opening.load_folder(folder)

    async def work() -> Sequence[TokenDetail]:
        async with opening.open_configs(settings, quiet=as_json) as configs:
            return await configs.list()

    details = session.run_async(work())
    if as_json:
        screen.print_json([opening.describe_token(detail) for detail in details])
    elif details:
        columns = ["id", "token", "endpoint", "model", "made", "state"]
        terminal.print_table(columns, opening.list_columns(details))
    else:
        terminal.print_hint("There are no tokens. Make one with `muniment proxy token create`.")
