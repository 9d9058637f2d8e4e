"""`status`: the database, the embedder and a user's memory."""

from __future__ import annotations

from typing import Any

from muniment.faces.cli import session
from muniment.faces.cli.commands.stats.spend import describe_budget
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.scope import Scope


def show_status(user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """Show the database, the embedder and what a user's memory holds, and when it was last tended. Starts nothing.

    `budget` is what the models may use on one day (UTC), of all users of the tenant together (`spend` in the settings).
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
    if not settings.is_embedded:
        name = "MUNIMENT_DATABASE_URL" if settings.database_url else "MUNIMENT_OWNER_URL"
        place: dict[str, Any] = {"database": name, "running": True}
    else:
        server = await bootstrap.get_server_status(settings)
        place = {"database": "embedded", "home": str(settings.home), "running": server is not None}
        if server is None:
            return place | configured
        place["server"] = server
    async with session.open_memory(settings, quiet=quiet) as memory:
        charged = (await memory.admin.read_usage(scope, 1)).days.get(memory.now().date(), (0, 0))
        budget = describe_budget(settings.spend, *charged)
        return place | configured | {"budget": budget, "space": await memory.read_status(scope)}
