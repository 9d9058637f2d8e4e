"""What the commands of tokens share: the proxy's folder, its tokens, and how one is named and shown."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias
from uuid import UUID

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands.proxy.extra import require_extra
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.proxy_folder import load_proxy_settings
from muniment.memory.config.settings import Settings
from muniment.memory.errors import BadInput, NotFound

if TYPE_CHECKING:
    from muniment.memory.bootstrap import TokenConfigs
    from muniment.memory.domain.tokens.config import TokenDetail

Place: TypeAlias = Annotated[
    Path, typer.Option("--folder", metavar="FOLDER", help="The proxy's folder; the current one unless told.")
]
TypedId: TypeAlias = Annotated[
    str, typer.Argument(metavar="ID", help="The id that the list shows, or its beginning (4 or more).")
]


def load_folder(folder: Path) -> Settings:
    """The settings of the proxy in a folder. Raises NotInitialized, InitInterrupted, BadConfig."""
    with require_extra():
        # The extra brings the protocol's libraries: nothing for other commands to wait for, or to need.
        from muniment.faces.proxy.host.folder import ProxyFolder  # noqa: PLC0415 - slow to import, and in an extra
    found = ProxyFolder.find_folder(folder)
    found.require_initialized()
    return load_proxy_settings(found.path)


@asynccontextmanager
async def open_configs(settings: Settings, *, quiet: bool) -> AsyncIterator[TokenConfigs]:
    """The tokens with a configuration, to be changed. Raises StoreDown, BadConfig."""
    # The bootstrap brings the database's driver: nothing for `--help` to wait for.
    from muniment.memory import bootstrap  # noqa: PLC0415 - slow to import, and in an extra

    async with AsyncExitStack() as stack:
        with require_extra(), terminal.show_spinner("opening the database…", quiet=quiet):
            configs = await stack.enter_async_context(bootstrap.open_token_configs(settings, as_owner=True))
        yield configs


async def find_id(configs: TokenConfigs, typed: str) -> UUID:
    """The whole id of a token by its beginning. Raises BadInput (too short, ambiguous) and NotFound."""
    normalized = typed.strip().lower()
    if len(normalized) < session.MIN_ID_CHARS or set(normalized) - set("0123456789abcdef-"):
        raise BadInput(
            f"that is no id: give the {session.MIN_ID_CHARS} or more characters that `muniment proxy token list` shows"
        )
    ids = [detail.grant.id for detail in await configs.list() if str(detail.grant.id).startswith(normalized)]
    if not ids:
        raise NotFound(f"no token has an id that begins with {normalized}; `muniment proxy token list` shows the ids")
    if len(ids) > 1:
        raise BadInput(f"{normalized} is ambiguous: {', '.join(sorted(map(str, ids)))}", ids=sorted(map(str, ids)))
    return ids[0]


def describe_token(detail: TokenDetail) -> dict[str, Any]:
    """A token as JSON, with masked keys, as the endpoints show it."""
    from muniment.faces.proxy.administration import show_token  # noqa: PLC0415 - as above

    return show_token(detail)


def print_token(detail: TokenDetail, *, as_json: bool) -> None:
    """Print a token with masked keys, field by field or as JSON."""
    described = describe_token(detail)
    if as_json:
        screen.print_json(described)
    else:
        screen.print_fields({name: "-" if value is None else value for name, value in described.items()})


def print_secret(token: str, detail: TokenDetail, *, as_json: bool) -> None:
    """Print a token that was made just now."""
    if as_json:
        screen.print_json(describe_token(detail) | {"token": token})
        return
    screen.print_line(token)
    terminal.print_hint("This is shown once. Keep it where its program alone reads it.")


def list_columns(details: Sequence[TokenDetail]) -> list[list[str]]:
    """The rows of a table of tokens."""
    return [
        [
            screen.shorten_id(detail.grant.id),
            f"****{detail.hint}",
            str(detail.fields.get("llm_base_url") or "-"),
            str(detail.fields.get("llm_model") or "-"),
            f"{detail.grant.created_at:%Y-%m-%d}",
            _describe_state(detail),
        ]
        for detail in details
    ]


def _describe_state(detail: TokenDetail) -> str:
    if detail.grant.revoked_at:
        return f"revoked {detail.grant.revoked_at:%Y-%m-%d}"
    if detail.problem:
        return detail.problem
    return "embedding anew" if detail.is_switching else "valid"
