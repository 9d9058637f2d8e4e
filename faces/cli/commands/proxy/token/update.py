"""`proxy token update`: other endpoints, keys or limits of a token."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from muniment.faces.cli import session
from muniment.faces.cli.commands.proxy.token import fields, opening
from muniment.faces.cli.options import AsJson
from muniment.memory.errors import BadInput

if TYPE_CHECKING:
    from muniment.memory.domain.tokens.config import TokenDetail


def update_token(
    typed_id: opening.TypedId,
    file: fields.FromFile = None,
    assignments: fields.Assignments = None,
    variables: fields.KeyVariables = None,
    asked: fields.AskedKeys = None,
    folder: opening.Place = Path(),
    as_json: AsJson = False,
) -> None:
    """Change fields of a token; what is not named stays. The next request has them.

    With another embedder the memory is embedded anew by a worker; until that is done the former one answers. A request
    that is under way ends with what it began with.

    For example:

      muniment proxy token update 4f2a91bc --set memory_limit=8 --ask llm_api_key
    """
    settings = opening.load_folder(folder)
    given = fields.read_fields(file, assignments, variables, asked)
    if not given:
        raise BadInput("nothing is to be changed: --set, --ask, --key-env and --file name fields")

    async def work() -> TokenDetail:
        async with opening.open_configs(settings, quiet=as_json) as configs:
            return await configs.update(await opening.find_id(configs, typed_id), given)

    opening.print_token(session.run_async(work()), as_json=as_json)
