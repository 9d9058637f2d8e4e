"""`share grant` and `share revoke`: let somebody read the memory of a project or an agent, or no more."""

from __future__ import annotations

import getpass
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from muniment.faces.cli import options, session
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen
from muniment.faces.cli.output.shares import encode_share
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.scope import OwnerType, Scope, Share
from muniment.memory.errors import BadInput

if TYPE_CHECKING:
    from muniment.memory.config.settings import Settings

Owner = Annotated[str, typer.Argument(metavar="OWNER", help="Whose memory: project:NAME or agent:NAME.")]
Reader = Annotated[
    str, typer.Argument(metavar="READER", help="Who may read it: user:NAME, agent:NAME, project:NAME, or everybody.")
]
Tenant = Annotated[str | None, typer.Option("--tenant", metavar="NAME", help="Of both; else MUNIMENT_TENANT.")]
_EVERYBODY = "everybody"
_OWNER_TYPES: tuple[str, ...] = get_args(OwnerType)


def grant_share(owner: Owner, reader: Reader, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Let somebody read the memory of a project or an agent beside their own, within the allowlist of who asks.

    Their requests have it when they name the project, or come through the agent (recall.beside). It is read, and never
    written. A server that runs knows of it within ten seconds.

    For example:

      muniment share grant project:atlas user:ana

      muniment share grant agent:supervisor everybody
    """
    settings = load_settings()
    shared, whom = _parse_parties(settings, owner, reader, tenant)

    async def work() -> Share:
        async with session.open_shares(settings, quiet=as_json) as shares:
            return await shares.grant_share(shared, whom, by=_get_login())

    _print_share("shared", session.run_async(work()), as_json=as_json)


def revoke_share(owner: Owner, reader: Reader, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Let somebody no longer read the memory of a project or an agent. Each search that begins afterwards knows it.

    For example:

      muniment share revoke project:atlas user:ana
    """
    settings = load_settings()
    shared, whom = _parse_parties(settings, owner, reader, tenant)

    async def work() -> Share:
        async with session.open_shares(settings, quiet=as_json) as shares:
            return await shares.revoke_share(shared, whom)

    _print_share("no longer shared", session.run_async(work()), as_json=as_json)


def _parse_parties(settings: Settings, owner: str, reader: str, tenant: str | None) -> tuple[Scope, Scope | None]:
    """Whose memory and who reads it, as typed; None is everybody. Raises BadInput."""
    name = settings.tenant if tenant is None else options.check_name(tenant, "--tenant")
    whom = None if reader == _EVERYBODY else _parse_owner(name, reader, "READER")
    return _parse_owner(name, owner, "OWNER"), whom


def _parse_owner(tenant: str, typed: str, option: str) -> Scope:
    owner_type, colon, name = typed.partition(":")
    if not colon or owner_type not in _OWNER_TYPES:
        raise BadInput(f"{option}: TYPE:NAME wanted; types: {', '.join(_OWNER_TYPES)}")
    return Scope(tenant=tenant, owner=options.check_name(name, option), owner_type=cast("OwnerType", owner_type))


def _get_login() -> str:
    with suppress(OSError, KeyError):  # a process without an entry in the list of logins
        return getpass.getuser()
    return "unknown"


def _print_share(what: str, share: Share, *, as_json: bool) -> None:
    encoded = encode_share(share)
    if as_json:
        screen.print_json(encoded)
    else:
        screen.print_line(f"{what}: {encoded['owner']} with {encoded['reader']}")
