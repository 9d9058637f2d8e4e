"""`stats checkpoints`: what the checkpoints of each thread take."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import load_settings

if TYPE_CHECKING:
    from muniment.graph.janitor import ThreadSizes
from muniment.faces.cli.commands.checkpoints.saver import open_saver

_UNIT_STEP = 1000
_DATE_CHARS = 10  # of an ISO time: the day
Owner = Annotated[
    str | None,
    typer.Option("--user", "-u", metavar="NAME", help="Only threads of this user; else of all."),
]


def show_sizes(
    limit: Annotated[int, typer.Option("--limit", min=1, max=10000, metavar="N", help="At most so many threads.")] = 20,
    user: Owner = None,
    as_json: AsJson = False,
) -> None:
    """Show what the checkpoints of each thread take, the largest first.

    For example:

      muniment stats checkpoints --limit 5

      muniment checkpoints prune --dry-run     # what could go
    """
    settings = load_settings()
    owner = session.make_scope(settings, user) if user is not None else None

    async def work() -> ThreadSizes:
        # LangGraph and the database's driver: nothing for `--help` to wait for.
        from muniment.graph import janitor  # noqa: PLC0415

        async with open_saver(settings, quiet=as_json) as saver:
            return await janitor.measure_threads(saver, limit, owner.space if owner else None)

    sizes = session.run_async(work())
    if as_json:
        screen.print_json({"user": user, **asdict(sizes)})
        return
    rows = [
        (row.checkpoints, format_size(row.bytes), row.oldest[:_DATE_CHARS], row.newest[:_DATE_CHARS], row.thread)
        for row in sizes.largest
    ]
    terminal.print_table(("count", "size", "oldest", "newest", "thread"), rows)
    terminal.print_hint(f"{screen.format_count(sizes.threads, 'thread')}, {format_size(sizes.bytes)} in all")


def format_size(count: int) -> str:
    """A number of bytes with its unit, in steps of 1,000: "812 B", "1.2 MB"."""
    size, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB"):
        if size < _UNIT_STEP or unit == "GB":
            break
        size /= _UNIT_STEP
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
