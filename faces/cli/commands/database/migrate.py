"""`migrate`: the database's tables are brought up to date."""

from __future__ import annotations

from muniment.faces.cli import session
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import load_settings


def migrate_database(as_json: AsJson = False) -> None:
    """Bring the database's tables up to date. Every command does it by itself; this one only says what it did.

    For example:

      muniment migrate
    """
    # Here and below the bootstrap brings the database's driver: nothing for `--help` to wait for.
    from muniment.graph import checkpointer  # noqa: PLC0415
    from muniment.memory import bootstrap  # noqa: PLC0415

    settings = load_settings()

    async def work() -> list[str]:
        applied = await bootstrap.migrate_database(settings)
        await checkpointer.create_tables(settings)
        return applied

    with terminal.show_spinner("starting the database…", quiet=as_json):
        applied = session.run_async(work())
    if as_json:
        screen.print_json({"applied": applied})
        return
    for name in applied:
        screen.print_line(f"applied {name}")
    if not applied:
        screen.print_line("The database is up to date.")
