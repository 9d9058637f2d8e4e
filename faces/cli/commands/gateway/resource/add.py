"""`gateway resource add`: documents are taken in."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands.gateway.resource.options import App, Project, User, make_scope
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.faces.cli.resource_files import ResourceFile, ResourceFolder, find_files, read_content
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.layers.resources import ResourceReport
from muniment.memory.domain.scope import GATEWAY_DEFAULT, Scope
from muniment.memory.errors import BadInput, MunimentError

if TYPE_CHECKING:
    from muniment.memory.client import Memory

_SOME_REFUSED = 2  # the exit code of bad input
_MAX_LISTED = 10


@dataclass(slots=True)
class _Intake:
    """What came of the files so far: the reports of those that were taken in, and why others were not."""

    reports: list[ResourceReport] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)  # resources of the folder whose files are not there any more


def add_resource(
    source: Annotated[str, typer.Argument(metavar="FILE|FOLDER", help="A document, or a folder of them.")],
    user: User,
    app: App = GATEWAY_DEFAULT,
    project: Project = GATEWAY_DEFAULT,
    uri: Annotated[
        str | None,
        typer.Option("--uri", metavar="URI", help="Its address; of a folder the beginning of its files'."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take documents in, so that searches of the gateway in `resources` find what they state.

    Text, Markdown, HTML and PDF (.txt, .md, .html, .pdf) are cut into statements, each with the headings above it. The
    same file again replaces what has changed in it: what it says as before stays, what it no longer says is forgotten.
    An instruction in a document waits for a yes (`muniment consent list`), and is in no answer until then. Each file is
    taken in whole or not at all.

    Without --uri the address is `resource:` and the name of the file, in a folder with the folder's name before it.

    For example:

      muniment gateway resource add handbook.pdf --user ana

      muniment gateway resource add docs/ --user ana --app helpdesk --uri https://docs.example.com
    """
    settings = load_settings()
    scope = make_scope(settings, user, app, project)
    if uri is not None and not uri.strip():
        raise BadInput("--uri: is empty; name an address, or leave it out")
    found = find_files(source, uri)
    folder = found if isinstance(found, ResourceFolder) else None
    files = folder.files if folder else (found,) if isinstance(found, ResourceFile) else ()
    intake = _Intake()
    try:
        session.run_async(_take_in(settings, scope, files, folder, intake, quiet=as_json))
    except (KeyboardInterrupt, MunimentError):
        if folder and not as_json:
            done = f"{len(intake.reports):,} of {len(files):,} files were taken in whole, and no other in part"
            screen.print_stderr(f"muniment: {source}: {done}; give the same command again to go on")
        raise
    _print_outcome(scope, intake, folder, as_json)
    if intake.refused:
        raise typer.Exit(_SOME_REFUSED)


async def _take_in(
    settings: Settings,
    scope: Scope,
    files: tuple[ResourceFile, ...],
    folder: ResourceFolder | None,
    intake: _Intake,
    *,
    quiet: bool,
) -> None:
    """Take the files in one by one; a file of a folder that cannot be read is noted, one alone raises BadInput."""
    from muniment.memory import bootstrap  # noqa: PLC0415 - it brings the database's driver

    async with session.open_memory(settings, quiet=quiet) as memory, bootstrap.open_documents(settings) as documents:
        most = settings.resources.file_bytes
        for number, file in enumerate(files, 1):
            label = f"{number} of {len(files)}: {file.name}" if folder else file.name
            with terminal.show_progress(screen.join_lines(label), None, quiet=quiet) as move:
                try:
                    statements = await documents.read_document(file.kind, read_content(file, most))
                    keep = memory.resources.keep
                    report = await keep(scope, file.uri, statements, path=file.name, on_progress=move)
                except BadInput as error:
                    if folder is None:
                        raise type(error)(f"{file.name}: {error}", **error.data) from None
                    intake.refused[file.name] = str(error)
                    continue
            if report.skipped:
                intake.refused[file.name] = report.skipped
            else:
                intake.reports.append(report)
        if folder:
            intake.gone = await _find_gone(memory, scope, folder)


async def _find_gone(memory: Memory, scope: Scope, folder: ResourceFolder) -> list[str]:
    """Return the resources of a folder whose files are not in it."""
    there = {file.uri for file in folder.files}
    uris = [each.uri for each in await memory.resources.list(scope)]
    return [uri for uri in uris if uri.startswith(folder.prefix) and uri not in there]


def _print_outcome(scope: Scope, intake: _Intake, folder: ResourceFolder | None, as_json: bool) -> None:
    if as_json:
        outcome: dict[str, Any] = {
            "user": scope.owner,
            "resources": [_report_to_json(each) for each in intake.reports],
            "refused": [{"file": name, "reason": reason} for name, reason in intake.refused.items()],
        }
        if folder:
            outcome |= {"unread": folder.unread, "links": [*folder.links], "gone": intake.gone}
        screen.print_json(outcome)
        return
    for report in intake.reports:
        screen.print_line(f"{report.uri}: {_describe_report(report, scope.owner)}")
    for name, reason in intake.refused.items():
        screen.print_stderr(f"{screen.join_lines(name)}: not taken in: {reason}")
    if folder:
        _print_left(folder, intake)


def _print_left(folder: ResourceFolder, intake: _Intake) -> None:
    """Say what of a folder was not read, and what is remembered of files that are gone."""
    if folder.unread:
        screen.print_stderr(f"not read, of other kinds: {screen.format_count(folder.unread, 'file')}")
    if folder.links:
        screen.print_stderr(f"links are not followed: {_list_names(folder.links)}")
    if intake.gone:
        way = "remove them with `muniment gateway resource remove URI`"
        screen.print_stderr(f"not in the folder any more: {_list_names(intake.gone)}; {way}")


def _list_names(names: tuple[str, ...] | list[str]) -> str:
    more = f" and {len(names) - _MAX_LISTED:,} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(map(screen.join_lines, names[:_MAX_LISTED])) + more


def _report_to_json(report: ResourceReport) -> dict[str, Any]:
    return {name: value for name, value in asdict(report).items() if name != "skipped"}


def _describe_report(report: ResourceReport, owner: str) -> str:
    if not report.added and not report.removed:
        told = f"unchanged, {screen.format_count(report.kept, 'statement')}"
    else:
        told = f"{report.added:,} added, {report.removed:,} removed, {report.kept:,} kept"
    way = f"muniment consent list --user {quote(owner)}"
    return f"{told}; waiting for your yes: {report.waiting:,} ({way})" if report.waiting else told
