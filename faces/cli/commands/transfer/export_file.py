"""`export`: all of a user's memory is written to a file, in one of several formats or as an archive."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import screen, terminal
from muniment.faces.transfer.archive import ArchiveFile, check_archive, write_archive
from muniment.faces.transfer.files import open_replacement, write_chunks
from muniment.faces.transfer.formats import ExportFormat, encode_line, load_schema, stream_format
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput


def export_file(
    file: Annotated[str, typer.Argument(metavar="[FILE]", help="Where to; - or nothing for standard output.")] = "-",
    user: User = DEFAULT_USER,
    layout: Annotated[
        ExportFormat, typer.Option("--format", "-f", help="How the file is written; jsonl alone has everything.")
    ] = ExportFormat.jsonl,
    content: Annotated[
        bool, typer.Option("--content", help="Memories and relations alone, without revisions: to compare two moments.")
    ] = False,
    archive: Annotated[
        str | None, typer.Option("--archive", metavar="ZIP", help="Write all of the user into this ZIP file instead.")
    ] = None,
    check: Annotated[
        str | None, typer.Option("--check", metavar="ZIP", help="Check an archive by its list; no database is read.")
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of a line of jsonl.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write all of a user's memory as JSON lines: memories, former versions, history, relations, what was said.

    `import --format jsonl` into a user without memories restores it exactly; the vectors are made anew. --content is
    for comparing: the same bytes as long as the same is known, such as before a consolidation and after its undo.
    An existing FILE is replaced only when the new one is complete.

    markdown, mem0 and langgraph-store have the memories that are in force: for people, for mem0's `add`, for a store
    of LangGraph.

    --archive has besides what no other table of lines has: items, operations, receipts of erasures, the last state of
    each thread; with a list of names, media types, sizes and checksums, by which --check finds any change.

    For example:

      muniment export --user ana backup.jsonl

      muniment export --user ana --format markdown ana.md

      muniment export --user ana --archive ana.zip

      muniment export --check ana.zip

      muniment export | gzip > backup.jsonl.gz
    """
    if schema:
        sys.stdout.write(load_schema().decode())
        return
    if check is not None:
        _report_check(check, as_json=as_json)
        return
    _check_choice(file, layout, archive, content=content)
    settings = load_settings()
    scope = session.make_scope(settings, user)
    if archive is not None:
        _export_archive(settings, scope, archive, as_json=as_json)
        return
    _export_format(settings, scope, layout, file, content=content, as_json=as_json)


def _export_format(
    settings: Settings, scope: Scope, layout: ExportFormat, file: str, *, content: bool, as_json: bool
) -> None:
    if file == "-":
        # A reader of the pipe may be slow, and what is read from the database is of one transaction.
        with tempfile.TemporaryFile("w+b") as spool:
            session.run_async(_write_format(settings, scope, layout, spool, content=content, quiet=as_json))
            spool.seek(0)
            shutil.copyfileobj(spool, sys.stdout.buffer)
        return
    with open_replacement(Path(file)) as target:
        count = session.run_async(_write_format(settings, scope, layout, target, content=content, quiet=as_json))
    if as_json:
        screen.print_json({"user": scope.owner, "rows": count, "file": file, "format": str(layout)})
    else:
        screen.print_line(f"{count:,} {'row' if count == 1 else 'rows'} written to {file}")


def _check_choice(file: str, layout: ExportFormat, archive: str | None, *, content: bool) -> None:
    if content and (layout is not ExportFormat.jsonl or archive is not None):
        raise BadInput("--content: is for --format jsonl alone")
    if archive is not None and (file != "-" or layout is not ExportFormat.jsonl):
        raise BadInput("--archive: has a file of its own; give neither FILE nor --format beside it")


async def _write_format(
    settings: Settings, scope: Scope, layout: ExportFormat, target: IO[bytes], *, content: bool, quiet: bool
) -> int:
    async with session.open_memory(settings, quiet=quiet) as memory:
        with terminal.show_progress(f"export {scope.owner}", None, quiet=quiet) as move:
            pieces = _stream_content(memory, scope) if content else stream_format(memory, scope, layout)
            return await write_chunks(pieces, target, move)


async def _stream_content(memory: Memory, scope: Scope) -> AsyncIterator[bytes]:
    async for row in memory.personal_data.stream_export(scope, content=True):
        yield encode_line(row)


def _export_archive(settings: Settings, scope: Scope, archive: str, *, as_json: bool) -> None:
    with (
        open_replacement(Path(archive)) as target,
        terminal.show_progress(f"archive {scope.owner}", None, quiet=as_json) as move,
    ):
        files = session.run_async(_write_archive(settings, scope, target, move, quiet=as_json))
    if as_json:
        screen.print_json({"user": scope.owner, "file": archive, "files": [each.to_json() for each in files]})
        return
    terminal.print_table(
        ("bytes", "rows", "file"),
        [(f"{each.size:,}", "" if each.rows is None else f"{each.rows:,}", each.name) for each in files],
    )
    screen.print_line(f"{len(files):,} files written to {archive}")


async def _write_archive(
    settings: Settings, scope: Scope, target: IO[bytes], move: Callable[[int], None], *, quiet: bool
) -> list[ArchiveFile]:
    # LangGraph: nothing for `--help` to wait for.
    from muniment.graph.threads.states import stream_thread_states  # noqa: PLC0415

    async with session.open_memory(settings, quiet=quiet) as memory:
        threads = stream_thread_states(memory.engine.settings, scope.space, memory.conversation.redact)
        return await write_archive(memory, scope, target, threads, move)


def _report_check(archive: str, *, as_json: bool) -> None:
    files: list[dict[str, Any]] = check_archive(Path(archive))
    if as_json:
        screen.print_json({"file": archive, "files": files})
    else:
        screen.print_line(f"{archive}: {len(files):,} files, each as it was written")
