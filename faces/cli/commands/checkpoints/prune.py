"""`checkpoints prune`: old checkpoints go."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from muniment.faces.cli import options, session
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import load_settings

if TYPE_CHECKING:
    from muniment.graph.janitor import PruneResult
from muniment.faces.cli.commands.checkpoints.saver import open_saver, select_threads
from muniment.faces.cli.commands.checkpoints.sizes import Owner, format_size

Thread = Annotated[str | None, typer.Option("--thread", "-t", metavar="T", help="Only this thread.")]


def prune_checkpoints(
    keep: Annotated[
        int | None,
        typer.Option(
            "--keep", min=1, metavar="N", help="Newest checkpoints of a thread that stay; else checkpoints.keep."
        ),
    ] = None,
    older_than: Annotated[
        float | None,
        typer.Option(
            "--older-than",
            min=0,
            metavar="DAYS",
            help="Whole threads untouched for so long go; else checkpoints.ttl_days.",
        ),
    ] = None,
    thread: Thread = None,
    user: Owner = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would go.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove checkpoints that nobody goes back to: of each thread the newest stay, with all they need to be read.

    A turn makes about six checkpoints, and each change of the messages stores them anew. `muniment work`, the chat
    and LangGraph's server prune by themselves, by the settings. It may be interrupted, and be done beside running
    threads. A thread is named as LangGraph names it (`muniment stats checkpoints`), or with --user as in `muniment
    chat --thread`.

    For example:

      muniment checkpoints prune --dry-run

      muniment checkpoints prune --keep 50 --older-than 365
    """
    settings = load_settings()
    owner = session.make_scope(settings, user) if user is not None else None
    thread_name = options.check_name(thread, "--thread") if thread is not None else None

    async def work() -> tuple[PruneResult, int, float | None]:
        # LangGraph and the database's driver: nothing for `--help` to wait for.
        from muniment.graph import janitor  # noqa: PLC0415
        from muniment.memory import bootstrap  # noqa: PLC0415

        rules = (await bootstrap.read_settings_in_force(settings)).checkpoints
        count, days = keep or rules.keep, rules.ttl_days if older_than is None else older_than

        async with open_saver(settings, quiet=as_json) as saver:
            threads = await select_threads(saver, owner, thread_name)
            total = len(threads) if threads is not None else None
            with terminal.show_progress("pruning", total, quiet=as_json) as advance:
                pruned = await janitor.prune_threads(
                    saver, keep=count, days=days, threads=threads, dry=dry_run, on_progress=advance
                )
                return pruned, count, days

    freed, count, days = session.run_async(work())
    if as_json:
        screen.print_json({"dry_run": dry_run, "keep": count, "older_than": days, **asdict(freed)})
    else:
        screen.print_line(_format_result(freed, dry=dry_run))


def _format_result(result: PruneResult, *, dry: bool) -> str:
    if not result.checkpoints:
        return "Nothing to remove."
    whole = f" ({result.whole:,} whole)" if result.whole else ""
    checkpoints, threads, values, writes = (
        screen.format_count(count, noun)
        for count, noun in (
            (result.checkpoints, "checkpoint"),
            (result.threads, "thread"),
            (result.blobs, "value"),
            (result.writes, "write"),
        )
    )
    return (
        f"{'Would remove' if dry else 'Removed'} {checkpoints} of {threads}{whole}, with {values} and {writes}: "
        f"{format_size(result.bytes)}."
    )
