"""`import`: memories are read from a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated, Any, TypeAlias

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands.transfer.archive_source import ArchiveSource, count_left_rows
from muniment.faces.cli.commands.transfer.import_records import import_records
from muniment.faces.cli.import_source import ImportSource
from muniment.faces.cli.options import DEFAULT_USER, AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.faces.locomo import parse_conversations
from muniment.faces.memory_records import FIELDS, convert_records
from muniment.faces.transfer.archive import EXPORT, check_archive, is_archive
from muniment.faces.transfer.formats import is_export
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.plan import ImportReport
from muniment.memory.errors import BadInput, MunimentError

Convert: TypeAlias = Callable[[Iterable[Mapping[str, Any]]], Iterator[dict[str, Any]]]


class ImportFormat(StrEnum):
    """The layouts that `import` reads."""

    chatgpt = "chatgpt"
    claude = "claude"
    mem0 = "mem0"
    langgraph_store = "langgraph-store"
    langmem = "langmem"
    letta = "letta"
    graphiti = "graphiti"
    markdown = "markdown"
    jsonl = "jsonl"
    locomo = "locomo"
    memory_records = "memory-records"


_OWN_FORMATS = (ImportFormat.jsonl, ImportFormat.locomo, ImportFormat.memory_records)


File: TypeAlias = Annotated[
    str, typer.Argument(metavar="FILE", help="The file, folder or ZIP archive; - for standard input.")
]
Layout: TypeAlias = Annotated[
    ImportFormat | None,
    typer.Option("--format", "-f", help="How it is written; else an export or another memory's is recognized."),
]
Owner: TypeAlias = Annotated[
    str | None,
    typer.Option("--user", "-u", metavar="NAME", help="Whose memory; else me, or for locomo the conversation's id."),
]
Only: TypeAlias = Annotated[
    str | None,
    typer.Option("--only", metavar="OWNER", help="Only what the file says is this user's, group's or namespace's."),
]
DryRun: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", help="Read and check another memory's file, and show counts and a sample.")
]


def import_file(
    file: File,
    layout: Layout = None,
    user: Owner = None,
    only: Only = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Read memories from a file. What is there already is not added again.

    All of the file is looked at before the first memory is written: where a line is not right nothing is imported.
    What was interrupted goes on by the same command.

    chatgpt, claude: the archive of an export, unpacked or not, or a file of it. mem0: what get_all returned, and the
    history. langgraph-store, langmem: items of a store. letta: agent files. graphiti: facts and episodes of Zep and
    Graphiti. markdown: notes such as MEMORY.md, and folders of Obsidian. What is a conversation is learned from in the
    order of its time, what is a memory is kept as given with its origin; every record is counted with what became of
    it.

    The archive that `export --archive` writes is recognized, too: it is checked by its list of checksums, and restores
    the memory of a user who has no memories yet. What of it no import brings back is said.

    jsonl: what `export` wrote, which is recognized, into a user who has no memories yet; or one object a line with at
    least a "text", perhaps "category", "kind", "importance", "event_time", "tags", "aliases", "pinned", "actor_id",
    "fact". Without category, kind and fact a line is read as a message of the user's: "User lives in Rome" is a fact,
    and corrected by "I live in Berlin now". Of two lines that contradict each other the later "event_time" holds, and
    one without it is so now. It is said which lines only changed a memory that there was already, and which added
    nothing; with --json all of their numbers.

    locomo: conversations in the layout of the LoCoMo data set; every turn becomes an episodic memory with its
    speaker and its own date.

    memory-records: the rows of a former design, one object a line with "content", perhaps "metadata", "key",
    "importance", "created_at" and "is_active". Its memories have the tag "legacy" and their source, and `muniment stats
    legacy` says which of them nothing newer has confirmed.

    For example:

      muniment import chatgpt-export.zip --dry-run

      muniment import chatgpt-export.zip --user ana

      muniment import ana.zip --user ana

      muniment import sentences.jsonl --format jsonl --user ana

      muniment import conversations.json --format locomo
    """
    settings = load_settings()
    if layout in (None, ImportFormat.jsonl) and file != "-" and is_archive(Path(file)):
        _import_archive(settings, file, user, only=only, dry_run=dry_run, as_json=as_json)
        return
    layout, owner = layout or _recognize_export(file), user or DEFAULT_USER
    if layout not in _OWN_FORMATS:
        import_records(settings, file, layout and layout.value, owner, only=only, dry_run=dry_run, as_json=as_json)
    elif dry_run or only is not None:
        raise BadInput(f"--dry-run and --only are for what comes from other memories, not for {layout.value}")
    else:
        source = ImportSource(file, FIELDS) if layout is ImportFormat.memory_records else ImportSource(file)
        _import_own(settings, source, layout, user, as_json)


def _recognize_export(file: str) -> ImportFormat | None:
    return ImportFormat.jsonl if file != "-" and is_export(Path(file)) else None


def _import_archive(
    settings: Settings, file: str, user: str | None, *, only: str | None, dry_run: bool, as_json: bool
) -> None:
    """Import the archive of an export, or with `dry_run` print what is in it. Raises BadInput."""
    if only is not None:
        raise BadInput("--only: an archive of `muniment export` has one user")
    if dry_run:
        _print_archive(file, as_json)
    else:
        _import_own(settings, ArchiveSource(file), ImportFormat.jsonl, user, as_json)


def _import_own(
    settings: Settings, source: ImportSource, layout: ImportFormat, user: str | None, as_json: bool
) -> None:
    """Import a file in a format of the product's own, and print what became of its lines."""
    report = ImportReport()
    try:
        if layout is not ImportFormat.locomo:
            convert = convert_records if layout is ImportFormat.memory_records else None
            owner, report = _import_lines(settings, source, user or DEFAULT_USER, as_json, convert)
            imported = {owner: report.added}
        else:
            imported = _import_conversations(settings, source, user, as_json)
    except KeyboardInterrupt:
        _print_progress(source, quiet=as_json)
        raise
    except MunimentError as error:
        if not isinstance(error, BadInput):
            _print_progress(source, quiet=as_json)
        raise source.add_line_numbers(error) from error
    _print_report(source, imported, None if layout is ImportFormat.locomo else report, as_json)


def _import_lines(
    settings: Settings, import_source: ImportSource, user: str, quiet: bool, convert: Convert | None
) -> tuple[str, ImportReport]:
    scope = session.make_scope(settings, user)

    async def work(source: IO[bytes]) -> ImportReport:
        async with session.open_memory(settings, quiet=quiet) as memory:
            with terminal.show_progress(f"import {import_source.file}", None, quiet=quiet) as move:
                rows = import_source.read_rows(source)
                given = rows if convert is None else convert(rows)
                return await memory.load(scope, given, import_source.count_written(move))

    with import_source.open_file() as source:
        return scope.owner, session.run_async(work(source))


def _import_conversations(
    settings: Settings, import_source: ImportSource, user: str | None, quiet: bool
) -> dict[str, int]:
    content = import_source.read_json()
    try:
        parsed = parse_conversations(content)
    except BadInput as error:
        raise import_source.add_file_name(error) from None
    scoped = [(session.make_scope(settings, user or conversation.sample_id), conversation) for conversation in parsed]

    async def work() -> dict[str, int]:
        imported: dict[str, int] = {}
        total = sum(len(conversation.candidates) for _, conversation in scoped)
        async with session.open_memory(settings, quiet=quiet) as memory:
            with terminal.show_progress(f"import {import_source.file}", total, quiet=quiet) as bar:
                move = import_source.count_written(bar)
                for scope, conversation in scoped:
                    count = await memory.ingest(scope, conversation.candidates, move)
                    imported[scope.owner] = imported.get(scope.owner, 0) + count
        return imported

    return session.run_async(work())


def _print_report(
    source: ImportSource, imported: Mapping[str, int], report: ImportReport | None, as_json: bool
) -> None:
    """Print what was imported for whom; a file of lines has a report of them."""
    if as_json:
        outcome: dict[str, Any] = {"imported": sum(imported.values()), "users": imported}
        if report is not None:
            outcome |= {"merged": source.find_lines(report.merged), "unused": source.find_lines(report.unused)}
        if source.left_files:
            outcome["not_restored"] = source.left_files
        screen.print_json(outcome | _unknown_fields_to_json(source))
        return
    for owner, count in (imported or {source.name: 0}).items():
        screen.print_line(f"{owner}: {count:,} {'memory' if count == 1 else 'memories'} imported")
    for text in source.describe_report(report) if report is not None else ():
        screen.print_stderr(text)
    if source.unknown_fields:
        screen.print_stderr(source.describe_unknown_fields())
    if source.left_files:
        screen.print_stderr(f"not restored: {_list_files(source.left_files)}")


def _print_archive(file: str, as_json: bool) -> None:
    """Check an archive, and print what an import of it brings back."""
    files = check_archive(Path(file))
    rows = sum(each["rows"] for each in files if each["name"] == EXPORT and each.get("rows"))
    left = count_left_rows(files)
    if as_json:
        screen.print_json({"format": "archive", "files": len(files), "rows": rows, "not_restored": left})
        return
    screen.print_line(f"{file}: {len(files):,} files, each as it was written; {rows:,} rows, nothing is written")
    if left:
        screen.print_line(f"  not restored by an import: {_list_files(left)}")


def _list_files(files: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({rows:,} row{'s' * (rows != 1)})" for name, rows in files.items())


def _print_progress(source: ImportSource, *, quiet: bool) -> None:
    if not quiet:
        screen.print_stderr(f"muniment: {source.name}: {source.describe_progress()}")


def _unknown_fields_to_json(source: ImportSource) -> dict[str, Any]:
    return {"not_read": dict(source.unknown_fields)} if source.unknown_fields else {}
