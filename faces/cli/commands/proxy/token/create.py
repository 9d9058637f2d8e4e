"""`proxy token create`: a token for a program, with its endpoints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from muniment.faces.cli import session
from muniment.faces.cli.commands.proxy.token import fields, opening
from muniment.faces.cli.options import AsJson

if TYPE_CHECKING:
    from pydantic import SecretStr

    from muniment.memory.domain.tokens.config import TokenDetail


def create_token(
    file: fields.FromFile = None,
    assignments: fields.Assignments = None,
    variables: fields.KeyVariables = None,
    asked: fields.AskedKeys = None,
    folder: opening.Place = Path(),
    as_json: AsJson = False,
) -> None:
    """Make a token with its endpoints, models and limits, and show it this once. Its memory is its own.

    Keys are asked for on a terminal, or come from a file or from environment variables: never from the command line,
    which others may read. docs/proxy.md has the fields.

    For example:

      muniment proxy token create --file token.json --key-env llm_api_key=UPSTREAM_KEY

      muniment proxy token create --file token.json --set memory_limit=8
    """
    settings = opening.load_folder(folder)
    given = fields.ask_missing_keys(fields.read_fields(file, assignments, variables, asked))

    async def work() -> tuple[SecretStr, TokenDetail]:
        async with opening.open_configs(settings, quiet=as_json) as configs:
            token, made = await configs.register(given)
            return token, await configs.get(made.grant.id)

    token, detail = session.run_async(work())
    opening.print_secret(token.get_secret_value(), detail, as_json=as_json)
