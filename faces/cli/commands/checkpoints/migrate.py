"""`checkpoints migrate`: the threads of another saver are copied."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands.checkpoints.saver import open_saver
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.errors import BadInput


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

    The source is the folder `.langgraph_api` that `langgraph dev` leaves where it has no checkpointer of its own, or
    a file: the pickle of {"storage": dict(saver.storage), "writes": dict(saver.writes), "blobs": dict(saver.blobs)}.
    A pickle can run programs; here it makes plain data only, and anything else is refused by its name. Values may
    have LangGraph's and LangChain's classes, and those of --allow. Secrets are taken out on the way, as from every
    checkpoint. It may be interrupted and done again: what is there already is compared and left alone.

    When you have given the checkpoints a database of their own (MUNIMENT_CHECKPOINTS_URL), --former brings the
    threads there. End the processes that still have the former settings before --remove; `muniment scrub` then clears
    the files.

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
        namespaces = (namespace for thread in source_saver.storage.values() for namespace in thread.values())
        total = sum(map(len, namespaces))
        async with open_saver(settings, quiet=as_json) as saver:
            with terminal.show_progress("copying", total, quiet=as_json) as advance:
                return asdict(await migration.migrate_threads(source_saver, saver, advance))

    result = session.run_async(work())
    if as_json:
        screen.print_json(result)
    else:
        screen.print_line(_format_result(result, remove=remove))


def _format_result(result: dict[str, int], *, remove: bool) -> str:
    checkpoints = screen.format_count(result["checkpoints"], "checkpoint")
    writes = screen.format_count(result["writes"], "write")
    present = f" {result['there']:,} were there already." if result["there"] else ""
    removed = " They are gone where they were." if remove else ""
    threads = screen.format_count(result["threads"], "thread")
    return f"Copied and compared {checkpoints} with {writes}; {threads} in all.{present}{removed}"


async def _migrate_former(settings: Settings, *, remove: bool, quiet: bool) -> dict[str, int]:
    """Copy the threads from the memory's database, with `remove` delete them there; the counts. Raises BadInput."""
    # LangGraph and the database's driver: nothing for `--help` to wait for.
    from muniment.graph import janitor, migration  # noqa: PLC0415
    from muniment.graph.checkpointer import open_savers  # noqa: PLC0415
    from muniment.memory import bootstrap  # noqa: PLC0415

    async with open_savers(settings, bootstrap.make_redactor(settings)) as savers:
        if len(savers) == 1:
            raise BadInput(
                "--former: the checkpoints have no database of their own (MUNIMENT_CHECKPOINTS_URL), or the memory's "
                "database never had any"
            )
        target, source = savers
        threads = await janitor.list_threads(source)
        with terminal.show_progress("copying", None, quiet=quiet) as advance:
            result = await migration.migrate_threads(source, target, advance)
        if remove:
            await janitor.delete_threads(source, threads)
        return asdict(result)
