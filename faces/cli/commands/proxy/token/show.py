"""`proxy token show`: one token, with masked keys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from muniment.faces.cli import session
from muniment.faces.cli.commands.proxy.token import opening
from muniment.faces.cli.options import AsJson

if TYPE_CHECKING:
    from muniment.memory.domain.tokens.config import TokenDetail


def show_token(typed_id: opening.TypedId, folder: opening.Place = Path(), as_json: AsJson = False) -> None:
    """Show what a token is configured with. Of keys and of the token only the last four characters are shown.

    For example:

      muniment proxy token show 4f2a91bc
    """
    settings = opening.load_folder(folder)

    async def work() -> TokenDetail:
        async with opening.open_configs(settings, quiet=as_json) as configs:
            return await configs.get(await opening.find_id(configs, typed_id))

    opening.print_token(session.run_async(work()), as_json=as_json)
