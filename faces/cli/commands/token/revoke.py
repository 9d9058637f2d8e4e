"""`token revoke`: a token that is valid no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen
from muniment.memory import codec
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.scope import Grant
from muniment.memory.errors import BadInput, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID


def revoke_token(
    typed_id: Annotated[
        str, typer.Argument(metavar="ID", help="The id that the list shows, or its beginning (4 or more).")
    ],
    as_json: AsJson = False,
) -> None:
    """Revoke a token for good. Servers that run refuse it within 30 seconds.

    For example:

      muniment token revoke 4f2a91bc
    """
    settings = load_settings()

    async def work() -> Grant:
        async with session.open_tokens(settings, quiet=as_json) as tokens:
            return await tokens.revoke_token(_find_id(await tokens.list_grants(), typed_id))

    grant = session.run_async(work())
    if as_json:
        screen.print_json(codec.encode_record(grant))
    else:
        screen.print_line(f"revoked {screen.shorten_id(grant.id)}")


def _find_id(grants: Sequence[Grant], prefix: str) -> UUID:
    """The full id of a token by its beginning. Raises BadInput (too short, ambiguous) and NotFound."""
    normalized = prefix.strip().lower()
    if len(normalized) < session.MIN_ID_CHARS or set(normalized) - set("0123456789abcdef-"):
        raise BadInput(
            f"that is no id: give the {session.MIN_ID_CHARS} or more characters that `muniment token list` shows"
        )
    ids = [grant.id for grant in grants if str(grant.id).startswith(normalized)]
    if not ids:
        raise NotFound(f"no token has an id that begins with {normalized}; `muniment token list` shows the ids")
    if len(ids) > 1:
        raise BadInput(f"{normalized} is ambiguous: {', '.join(sorted(map(str, ids)))}", ids=sorted(map(str, ids)))
    return ids[0]
