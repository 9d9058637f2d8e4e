"""`grant`: a login gets what the engine needs, and nothing else."""

from __future__ import annotations

from typing import Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import load_settings


def grant_login(
    login: Annotated[str, typer.Argument(help="A login of your server, such as muniment_engine.", show_default=False)],
    script: Annotated[bool, typer.Option("--print", help="Print the script for psql, and do nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Give a login of your own Postgres what the engine needs, and nothing else.

    The login owns nothing and sees no row until it enters a space in one of Muniment's roles. Create it first:

      create role muniment_engine login noinherit password '…';

    Then grant with the login that owns the tables, and let everything else work with the new one:

      MUNIMENT_OWNER_URL=postgresql://owner@host/database muniment grant muniment_engine

      MUNIMENT_DATABASE_URL=postgresql://muniment_engine@host/database muniment chat
    """
    # Here and below the bootstrap brings the database's driver: nothing for `--help` to wait for.
    from muniment.graph import checkpointer  # noqa: PLC0415
    from muniment.memory import bootstrap  # noqa: PLC0415

    if script:
        screen.print_line(bootstrap.read_grant_script())
        return
    settings = load_settings()

    async def work() -> None:
        await bootstrap.grant_login(settings, login)
        await checkpointer.create_tables(settings)

    with terminal.show_spinner("granting…", quiet=as_json):
        session.run_async(work())
    if as_json:
        screen.print_json({"granted": login})
    else:
        screen.print_line(f"{login} has what the engine needs.")
