"""`changes`: what has changed since a revision, oldest first."""

from __future__ import annotations

from typing import Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import screen, terminal
from muniment.memory import codec
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.journal import ChangePage
from muniment.memory.domain.scope import Scope


def show_changes(
    user: User = DEFAULT_USER,
    since: Annotated[int, typer.Option(metavar="REV", min=0, help="After this revision.")] = 0,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="At most so many, up to 1,000.")] = 100,
    agent: Annotated[
        str | None, typer.Option("--agent", "-a", metavar="A", help="Only what its allowlist lets this agent read.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what has changed since a revision, oldest first. Each memory is as it was then; what is erased is an id.

    The JSON names the revision after which to go on as `next`.

    For example:

      muniment changes --since 12 --json
    """
    settings = load_settings()
    scope = session.make_scope(settings, user)
    page = session.run_async(_read_page(settings, scope, agent, since, limit, quiet=as_json))
    if as_json:
        screen.print_json({"user": scope.owner} | codec.encode_change_page(page))
        return
    if not page.entries:
        terminal.print_hint(f"Nothing has changed since revision {since}.")
        return
    rows = [
        (
            entry.rev,
            f"{entry.ts:%Y-%m-%d %H:%M}",
            entry.action,
            screen.shorten_id(entry.memory_id),
            entry.memory.state if entry.memory else "gone",
            entry.memory.category if entry.memory else "",
            entry.memory.text if entry.memory else "",
        )
        for entry in page.entries
    ]
    terminal.print_table(["rev", "when (UTC)", "action", "id", "state", "category", "text"], rows)


async def _read_page(
    settings: Settings, scope: Scope, agent: str | None, since: int, limit: int, *, quiet: bool
) -> ChangePage:
    async with session.open_memory(settings, quiet=quiet) as memory:
        return await memory.changes(scope, since, limit, agent=agent)
