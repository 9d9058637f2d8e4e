"""`migrate`, `status`, `stop`: the database itself."""

from __future__ import annotations

from typing import Any

from muniment.faces.cli import session
from muniment.faces.cli.options import ME, AsJson, User
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import Settings, load
from muniment.memory.domain.scope import Scope


def migrate(as_json: AsJson = False) -> None:
    """Bring the database's tables up to date. Every command does it by itself; this one only says what it did.

    For example:

      muniment migrate
    """
    # Here and below the bootstrap brings the database's driver: nothing for `--help` to wait for.
    from muniment.memory import bootstrap  # noqa: PLC0415

    settings = load()
    with screen.waiting("starting the database…", quiet=as_json):
        applied = session.run(bootstrap.migrate_database(settings))
    if as_json:
        screen.show_json({"applied": applied})
        return
    for name in applied:
        screen.say(f"applied {name}")
    if not applied:
        screen.say("The database is up to date.")


def status(user: User = ME, as_json: AsJson = False) -> None:
    """Show the database, the embedder and what a user's memory holds, and when it was last tended. Starts nothing.

    `tended_next` is when something in it is due; a worker (muniment work) does it in the round after that.

    For example:

      muniment status

      muniment status --user ana --json
    """
    settings = load()
    scope = session.scope_of(settings, user)
    shown = session.run(_status(settings, scope, quiet=as_json))
    if as_json:
        screen.show_json(shown)
        return
    flat = {
        (f"{key}.{name}" if isinstance(value, dict) else key): one
        for key, value in shown.items()
        for name, one in (value.items() if isinstance(value, dict) else [(key, value)])
    }
    screen.show_fields({key: "-" if value is None else value for key, value in flat.items()})


async def _status(settings: Settings, scope: Scope, *, quiet: bool) -> dict[str, Any]:
    # See `migrate`.
    from muniment.memory import bootstrap  # noqa: PLC0415

    configured = {"model": settings.chat_model, "embedder": settings.embedder, "user": scope.owner}
    if settings.database_url:
        place: dict[str, Any] = {"database": "MUNIMENT_DATABASE_URL", "running": True}
    else:
        server = await bootstrap.server_status(settings)
        place = {"database": "embedded", "home": str(settings.home), "running": server is not None}
        if server is None:
            return place | configured
        place["server"] = server
    async with session.opened(settings, quiet=quiet) as memory:
        return place | configured | {"space": await memory.status(scope)}


def stop(as_json: AsJson = False) -> None:
    """Stop the embedded database. Nothing is lost; the next command starts it again.

    For example:

      muniment stop
    """
    # See `migrate`.
    from muniment.memory import bootstrap  # noqa: PLC0415

    stopped = session.run(bootstrap.stop(load()))
    if as_json:
        screen.show_json({"stopped": stopped})
    else:
        screen.say("Stopped." if stopped else "It was not running.")
