"""`proxy token delete`: a token that is valid no more, without its keys, and on request without its memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands.erasure.erase import erase_scope
from muniment.faces.cli.commands.erasure.scrub import Yes, check_can_ask
from muniment.faces.cli.commands.proxy.token import opening
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import Settings


def delete_token(
    typed_id: opening.TypedId,
    erase: Annotated[bool, typer.Option("--erase", help="Erase the token's memory for good, too.")] = False,
    yes: Yes = False,
    folder: opening.Place = Path(),
    as_json: AsJson = False,
) -> None:
    """Revoke a token, and delete its configuration with the keys. Its memory stays unless --erase is given.

    For example:

      muniment proxy token delete 4f2a91bc

      muniment proxy token delete 4f2a91bc --erase --yes --json
    """
    settings = opening.load_folder(folder)
    if erase:
        check_can_ask(yes=yes, as_json=as_json, reason="this cannot be undone")
        if not yes and not typer.confirm("The token's memory will be gone for good. Go on?"):
            screen.print_line("Nothing was changed.")
            return
    deleted = session.run_async(_delete_token(settings, typed_id, erase=erase, quiet=as_json))
    if as_json:
        screen.print_json(deleted)
    else:
        screen.print_line(f"deleted {screen.shorten_id(deleted['id'])}")
        if receipt := deleted.get("erased"):
            screen.print_fields({name: f"{count:,}" for name, count in receipt["counts"].items()})


async def _delete_token(settings: Settings, typed_id: str, *, erase: bool, quiet: bool) -> Mapping[str, Any]:
    async with opening.open_configs(settings, quiet=quiet) as configs:
        id_ = await opening.find_id(configs, typed_id)
        if not erase:
            await configs.delete(id_)
            return {"id": str(id_), "deleted": True}
        scope = await configs.revoke(id_)
    return {"id": str(id_), "deleted": True, "erased": await erase_scope(settings, scope, quiet=quiet)}
