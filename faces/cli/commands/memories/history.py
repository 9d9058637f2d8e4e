"""`history`: what happened to a memory, or to all of them."""

from __future__ import annotations

from typing import Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import (
    DEFAULT_USER,
    AsJson,
    User,
)
from muniment.faces.cli.output import screen, terminal
from muniment.memory import codec
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.journal import JournalEntry
from muniment.memory.domain.scope import Scope


def show_history(
    memory_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="A memory's id; without it, the whole space.")
    ] = None,
    user: User = DEFAULT_USER,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="At most so many.")] = 100,
    as_json: AsJson = False,
) -> None:
    """Show what happened to a memory, or to all of them, newest first. Nothing is ever taken out of it.

    For example:

      muniment history 4f2a

      muniment history --limit 10
    """
    settings = load_settings()
    scope = session.make_scope(settings, user)

    entries = session.run_async(_read_history(settings, scope, memory_id, limit, quiet=as_json))
    if as_json:
        screen.print_json({"user": scope.owner, "history": [codec.encode_record(entry) for entry in entries]})
        return
    if not entries:
        terminal.print_hint("Nothing has happened yet.")
        return
    rows = [
        (
            entry.rev,
            f"{entry.ts:%Y-%m-%d %H:%M}",
            entry.action,
            entry.node,
            screen.shorten_id(entry.memory_id),
            entry.category,
            _format_entry(entry),
        )
        for entry in entries
    ]
    terminal.print_table(["rev", "when (UTC)", "action", "by", "id", "category", "text"], rows)


def _format_entry(entry: JournalEntry) -> str:
    """The text of an entry, with the memory or the decision that it is about."""
    if heir := entry.meta.get("into"):
        return f"{entry.text}  (superseded by {screen.shorten_id(heir)})"
    if gone := entry.meta.get("from"):
        return f"{entry.text}  (also stands for {screen.shorten_id(gone)})"
    decided = entry.meta.get("consent")
    if not decided:
        return entry.text
    field = f"{entry.meta['field']} = {entry.meta['value']}, " if "field" in entry.meta else ""
    return f"{entry.text}  (consent {decided}: {field}by {entry.meta.get('by')})"


async def _read_history(
    settings: Settings, scope: Scope, prefix: str | None, limit: int, *, quiet: bool
) -> list[JournalEntry]:
    async with session.open_memory(settings, quiet=quiet) as memory:
        memory_id = await memory.find_id(scope, prefix) if prefix else None
        return list(await memory.history(scope, memory_id, limit))
