"""`migrate`, `status`, `stop`: the database itself."""

from __future__ import annotations

from typing import Any

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.scope import Scope


def migrate_database(as_json: AsJson = False) -> None:
    """Bring the database's tables up to date. Every command does it by itself; this one only says what it did.

    For example:

      muniment migrate
    """
    # Here and below the bootstrap brings the database's driver: nothing for `--help` to wait for.
    from muniment.memory import bootstrap  # noqa: PLC0415

    settings = load_settings()
    with screen.show_spinner("starting the database…", quiet=as_json):
        applied = session.run_async(bootstrap.migrate_database(settings))
    if as_json:
        screen.print_json({"applied": applied})
        return
    for name in applied:
        screen.print_line(f"applied {name}")
    if not applied:
        screen.print_line("The database is up to date.")


def show_status(user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """Show the database, the embedder and what a user's memory holds, and when it was last tended. Starts nothing.

    `tended_next` is when something in it is due; a worker (muniment work) does it in the round after that.

    For example:

      muniment status

      muniment status --user ana --json
    """
    settings = load_settings()
    scope = session.make_scope(settings, user)
    report = session.run_async(_read_status(settings, scope, quiet=as_json))
    if as_json:
        screen.print_json(report)
        return
    flat = {
        (f"{key}.{name}" if isinstance(value, dict) else key): one
        for key, value in report.items()
        for name, one in (value.items() if isinstance(value, dict) else [(key, value)])
    }
    screen.print_fields({key: "-" if value is None else value for key, value in flat.items()})


async def _read_status(settings: Settings, scope: Scope, *, quiet: bool) -> dict[str, Any]:
    # See `migrate`.
    from muniment.memory import bootstrap  # noqa: PLC0415

    configured = {"model": settings.chat_model, "embedder": settings.embedder, "user": scope.owner}
    if settings.database_url:
        place: dict[str, Any] = {"database": "MUNIMENT_DATABASE_URL", "running": True}
    else:
        server = await bootstrap.get_server_status(settings)
        place = {"database": "embedded", "home": str(settings.home), "running": server is not None}
        if server is None:
            return place | configured
        place["server"] = server
    async with session.open_memory(settings, quiet=quiet) as memory:
        return place | configured | {"space": await memory.status(scope)}


def stop_database(as_json: AsJson = False) -> None:
    """Stop the embedded database. Nothing is lost; the next command starts it again.

    For example:

      muniment stop
    """
    # See `migrate`.
    from muniment.memory import bootstrap  # noqa: PLC0415

    stopped = session.run_async(bootstrap.stop_server(load_settings()))
    if as_json:
        screen.print_json({"stopped": stopped})
    else:
        screen.print_line("Stopped." if stopped else "It was not running.")
