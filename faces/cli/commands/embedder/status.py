"""`embedder status`: the embedders of the database, a tenant and a user, and how far a switch is."""

from __future__ import annotations

from muniment.faces.cli import session
from muniment.faces.cli.commands.embedder.spaces import SwitchTenant, SwitchUser, read_spaces
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.embedding import SwitchProgress


def show_status(user: SwitchUser = None, tenant: SwitchTenant = None, as_json: AsJson = False) -> None:
    """Show the embedder of the database, of a tenant's or a user's memory, and how far a switch to another one is.

    `embedder` is that of the user, or of new users; `database` and `tenant` are the choices that it comes from.

    For example:

      muniment embedder status --json

      muniment embedder status --user ana
    """
    settings = load_settings()
    spaces = read_spaces(settings, user, tenant)

    async def work() -> SwitchProgress:
        memory = session.create_memory(settings)
        try:
            return await memory.admin.read_switch_progress(spaces)
        finally:
            await memory.close()

    with terminal.show_spinner("counting…", quiet=as_json):
        tally = session.run_async(work())
    share = tally.done / tally.rows if tally.rows else 1.0
    report = {
        "embedder": tally.used,
        "database": tally.database,
        "tenant": tally.tenant,
        "configured": settings.embedder,
        "switching_to": tally.next,
        "vectors": tally.rows,
        "done": tally.done,
        "share": round(share, 4),
        "to_tidy": tally.untidy,
    }
    if as_json:
        screen.print_json(report)
    else:
        screen.print_fields({key: "-" if value is None else value for key, value in report.items()})
