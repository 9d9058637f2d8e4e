"""`checkpoints prune`, `checkpoints migrate`, `stats checkpoints`: the state of the threads, as LangGraph keeps it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muniment.faces.cli import options, session
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput

if TYPE_CHECKING:
    from muniment.graph.checkpointer import PooledSaver
    from muniment.graph.janitor import PruneResult, ThreadSizes

app = typer.Typer(help="Prune the state of threads, or bring it from another saver.", no_args_is_help=True)

_UNIT_STEP = 1000
_DATE_CHARS = 10  # of an ISO time: the day
Thread = Annotated[str | None, typer.Option("--thread", "-t", metavar="T", help="Only this thread.")]
Owner = Annotated[
    str | None,
    typer.Option("--user", "-u", metavar="NAME", help="Only threads of this user; else of all."),
]


@app.command("prune")
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

    A turn makes about six checkpoints, and each change of the messages stores them anew. `muniment work`, the chat and
    LangGraph's server prune by themselves, by the settings. It may be interrupted, and be done beside running threads.
    A thread is named as LangGraph names it (`muniment stats checkpoints`), or with --user as in `muniment chat --thread`.

    For example:

      muniment checkpoints prune --dry-run

      muniment checkpoints prune --keep 50 --older-than 365
    """  # fmt: skip
    settings = load_settings()
    rules = settings.checkpoints
    count, days = keep or rules.keep, rules.ttl_days if older_than is None else older_than
    owner = session.make_scope(settings, user) if user is not None else None
    thread_name = options.check_name(thread, "--thread") if thread is not None else None

    async def work() -> PruneResult:
        # LangGraph and the database's driver: nothing for `--help` to wait for.
        from muniment.graph import janitor  # noqa: PLC0415

        async with _open_saver(settings, quiet=as_json) as saver:
            threads = await _select_threads(saver, owner, thread_name)
            total = len(threads) if threads is not None else None
            with screen.show_progress("pruning", total, quiet=as_json) as told:
                return await janitor.prune_threads(
                    saver, keep=count, days=days, threads=threads, dry=dry_run, on_progress=told
                )

    freed = session.run_async(work())
    if as_json:
        screen.print_json({"dry_run": dry_run, "keep": count, "older_than": days, **asdict(freed)})
    else:
        screen.print_line(_format_result(freed, dry=dry_run))


@app.command("migrate")
def migrate_checkpoints(
    source: Annotated[
        Path | None, typer.Argument(metavar="FILE_OR_FOLDER", help="Where an in-memory saver was left.")
    ] = None,
    former: Annotated[
        bool,
        typer.Option("--former", help="From the memory's database, where they were before MUNIMENT_CHECKPOINTS_URL."),
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="With --former: there they go when all are copied and compared.")
    ] = False,
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", metavar="MODULE.CLASS", help="A class of yours that values may have; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Copy the threads of another saver into the database: every checkpoint, in order, each read again and compared.

    The source is the folder `.langgraph_api` that `langgraph dev` leaves where it has no checkpointer of its own, or a file:
    the pickle of {"storage": dict(saver.storage), "writes": dict(saver.writes), "blobs": dict(saver.blobs)}. A pickle
    can run programs; here it makes plain data only, and anything else is refused by its name. Values may have LangGraph's
    and LangChain's classes, and those of --allow. Secrets are taken out on the way, as from every checkpoint.
    It may be interrupted and done again: what is there already is compared and left alone.

    When you have given the checkpoints a database of their own (MUNIMENT_CHECKPOINTS_URL), --former brings the threads
    there. End the processes that still have the former settings before --remove; `muniment scrub` then clears the files.

    For example:

      muniment checkpoints migrate .langgraph_api

      muniment checkpoints migrate --former --remove

      muniment checkpoints migrate saver.pickle --allow my_agent.state.Plan
    """
    if (source is not None) is former or (remove and not former):
        raise BadInput("give a file or folder, or --former, with which --remove may go")
    settings = load_settings()

    async def work() -> dict[str, int]:
        # LangGraph and the database's driver: nothing for `--help` to wait for.
        from muniment.graph import migration, saver_files  # noqa: PLC0415

        if source is None:
            return await _migrate_former(settings, remove=remove, quiet=as_json)
        source_saver = saver_files.load_saver(source, allow or ())
        total = sum(len(one) for spaces in source_saver.storage.values() for one in spaces.values())
        async with _open_saver(settings, quiet=as_json) as saver:
            with screen.show_progress("copying", total, quiet=as_json) as told:
                return asdict(await migration.migrate_threads(source_saver, saver, told))

    result = session.run_async(work())
    if as_json:
        screen.print_json(result)
        return
    there = f" {result['there']:,} were there already." if result["there"] else ""
    screen.print_line(f"Copied and compared {_format_count(result['checkpoints'], 'checkpoint')} with {_format_count(result['writes'], 'write')}; "
               f"{_format_count(result['threads'], 'thread')} in all.{there}"
               f"{' They are gone where they were.' if remove else ''}")  # fmt: skip


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

        async with _open_saver(settings, quiet=as_json) as saver:
            return await janitor.measure_threads(saver, limit, owner.space if owner else None)

    found = session.run_async(work())
    if as_json:
        screen.print_json({"user": user, **asdict(found)})
        return
    screen.print_table(
        ("count", "size", "oldest", "newest", "thread"),
        [(one.checkpoints, _format_size(one.bytes), one.oldest[:_DATE_CHARS], one.newest[:_DATE_CHARS], one.thread) for one in found.largest],
    )  # fmt: skip
    screen.print_hint(f"{_format_count(found.threads, 'thread')}, {_format_size(found.bytes)} in all")


async def _migrate_former(settings: Settings, *, remove: bool, quiet: bool) -> dict[str, int]:
    # LangGraph and the database's driver: nothing for `--help` to wait for.
    from muniment.graph import janitor, migration  # noqa: PLC0415
    from muniment.graph.checkpointer import open_savers  # noqa: PLC0415
    from muniment.memory import bootstrap  # noqa: PLC0415

    async with open_savers(settings, bootstrap.make_redactor(settings)) as savers:
        if len(savers) == 1:
            raise BadInput("--former: the checkpoints have no database of their own (MUNIMENT_CHECKPOINTS_URL), or the memory's "
                           "database never had any")  # fmt: skip
        target, source = savers
        threads = await janitor.list_threads(source)
        with screen.show_progress("copying", None, quiet=quiet) as told:
            result = await migration.migrate_threads(source, target, told)
        if remove:
            await janitor.delete_threads(source, threads)
        return asdict(result)


@asynccontextmanager
async def schedule_pruning(settings: Settings, *, once: bool) -> AsyncIterator[None]:
    """The janitor beside what happens inside, or, `once`, before it; either only when it is due."""
    # LangGraph and the database's driver: nothing for `--help` to wait for.
    from muniment.graph import janitor  # noqa: PLC0415

    async with _open_saver(settings, quiet=True) as saver:
        if once:
            await janitor.prune_if_due(saver, settings)
            yield
            return
        async with janitor.run_janitor(saver, settings):
            yield


@asynccontextmanager
async def _open_saver(settings: Settings, *, quiet: bool) -> AsyncIterator[PooledSaver]:
    # LangGraph and the database's driver: nothing for `--help` to wait for.
    from muniment.graph.checkpointer import open_saver  # noqa: PLC0415
    from muniment.memory import bootstrap  # noqa: PLC0415

    with screen.show_spinner("opening the database…", quiet=quiet):
        address = await bootstrap.ensure_checkpoint_database(settings)
    async with open_saver(address, bootstrap.make_redactor(settings), settings.tenant) as saver:
        yield saver


async def _select_threads(saver: PooledSaver, owner: Scope | None, thread: str | None) -> list[str] | None:
    """The threads that are meant; None for all."""
    # LangGraph and the database's driver: nothing for `--help` to wait for.
    from muniment.graph.janitor import list_space_threads  # noqa: PLC0415
    from muniment.graph.turn import make_thread_key  # noqa: PLC0415

    if owner is None:
        return [thread] if thread is not None else None
    return (
        [make_thread_key(owner.space, thread)] if thread is not None else await list_space_threads(saver, owner.space)
    )


def _format_result(result: PruneResult, *, dry: bool) -> str:
    if not result.checkpoints:
        return "Nothing to remove."
    whole = f" ({result.whole:,} whole)" if result.whole else ""
    return (
        f"{'Would remove' if dry else 'Removed'} {_format_count(result.checkpoints, 'checkpoint')} of "
        f"{_format_count(result.threads, 'thread')}{whole}, with {_format_count(result.blobs, 'value')} and {_format_count(result.writes, 'write')}: "
        f"{_format_size(result.bytes)}."
    )


def _format_count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _format_size(count: int) -> str:
    size, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB"):
        if size < _UNIT_STEP or unit == "GB":
            break
        size /= _UNIT_STEP
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
