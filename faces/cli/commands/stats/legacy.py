"""`stats legacy`: what is left of memories that were imported from a former design."""

from __future__ import annotations

from typing import Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import memories as view, screen, terminal
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.usage import LegacyReport


def show_legacy(
    user: User = DEFAULT_USER,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="List at most so many.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show what was imported with --format memory-records, and what of it nothing newer has confirmed.

    For example:

      muniment stats legacy --user ana
    """
    settings = load_settings()
    scope = session.make_scope(settings, user)

    async def work() -> LegacyReport:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.admin.read_legacy(scope, limit)

    report = session.run_async(work())
    if as_json:
        waiting = [view.list_fields(memory) for memory in report.waiting]
        counts = {"total": report.total, "confirmed": report.confirmed}
        screen.print_json({"user": scope.owner, **counts, "waiting": waiting})
        return
    screen.print_line(f"{report.confirmed:,} of {report.total:,} imported memories are confirmed by something newer")
    if report.waiting:
        rows = [[screen.shorten_id(each.id), each.category, each.text] for each in report.waiting]
        terminal.print_table(["id", "category", "text"], rows)
