"""`proxy token rotate`: another token for the same configuration and memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from muniment.faces.cli import session
from muniment.faces.cli.commands.proxy.token import opening
from muniment.faces.cli.options import AsJson

if TYPE_CHECKING:
    from pydantic import SecretStr

    from muniment.memory.domain.tokens.config import TokenDetail


def rotate_token(typed_id: opening.TypedId, folder: opening.Place = Path(), as_json: AsJson = False) -> None:
    """Make a new token in the place of one, and show it this once. Endpoints and memory stay; the former token is
    refused from now on.

    For example:

      muniment proxy token rotate 4f2a91bc
    """
    settings = opening.load_folder(folder)

    async def work() -> tuple[SecretStr, TokenDetail]:
        async with opening.open_configs(settings, quiet=as_json) as configs:
            return await configs.rotate(await opening.find_id(configs, typed_id))

    token, detail = session.run_async(work())
    opening.print_secret(token.get_secret_value(), detail, as_json=as_json)
