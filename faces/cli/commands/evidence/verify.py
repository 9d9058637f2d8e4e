"""`verify`: whether journals, memories and their versions are as they were written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands.evidence.anchor import FOUND_CODE, Key
from muniment.faces.cli.commands.evidence.anchor_files import open_anchor_files, read_file
from muniment.faces.cli.commands.evidence.spaces import All, OnlyUser, list_scopes
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal, verification
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.evidence.seals import Anchor, VerificationReport
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, NotFound

if TYPE_CHECKING:
    from muniment.memory.client import Memory


def verify_journals(
    user: OnlyUser = None,
    is_all: All = False,
    since: Annotated[int, typer.Option(metavar="REV", min=0, help="Only what came after this revision.")] = 0,
    anchor: Annotated[
        str | None, typer.Option("--anchor", metavar="FILE", help="Compare with anchors that were kept elsewhere.")
    ] = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Verify that nobody changed a memory behind its back, and name the first revision that somebody did.

    Each line of the journal is compared with its seal, and so is each memory and each former version. Without anchors
    a journal that was cut, or written anew as a whole, may look whole: see `muniment anchor`. With something found the
    exit code is 1.

    For example:

      muniment verify --user ana

      muniment verify --all --anchor anchors-2026-11-28.json --json
    """
    if is_all and since:
        raise BadInput("--since: goes with one user; each journal has revisions of its own")
    settings = load_settings()
    is_intact = session.run_async(_verify(settings, user, anchor, key, Revision(since), is_all=is_all, as_json=as_json))
    if not is_intact:
        raise typer.Exit(FOUND_CODE)


async def _verify(
    settings: Settings,
    user: str | None,
    anchor: str | None,
    key: str | None,
    since: Revision,
    *,
    is_all: bool,
    as_json: bool,
) -> bool:
    """Print a report for each space as soon as it is verified; whether nothing was found."""
    anchors = await _load_anchors(settings, anchor, key)
    is_intact, spaces = True, 0
    async with session.open_memory(settings, quiet=as_json) as memory:
        scopes = await list_scopes(memory, settings, user, is_all=is_all)
        async for report in _verify_each(memory, scopes, since, anchors, is_all=is_all, quiet=as_json):
            spaces += 1
            is_intact = is_intact and report.is_intact
            if as_json:
                screen.print_json(verification.report_to_json(report))
            else:
                verification.print_report(report, with_anchors=anchor is not None)
    if is_all and not as_json:
        verified = f"{spaces:,} {'journal was' if spaces == 1 else 'journals were'} verified"
        screen.print_line(f"{verified}; {'nothing was found' if is_intact else 'see above'}.")
    return is_intact


async def _verify_each(
    memory: Memory, scopes: Sequence[Scope], since: Revision, anchors: Sequence[Anchor], *, is_all: bool, quiet: bool
) -> AsyncIterator[VerificationReport]:
    for scope in scopes:
        try:
            with terminal.show_progress(f"rows of {scope.owner}", None, quiet=quiet) as move:
                report = await memory.admin.verify(scope, since=since, anchors=anchors, on_progress=move)
        except NotFound:
            if not is_all:
                raise
            continue  # erased since they were listed, or reported below as another one's
        yield report
    if is_all:
        for report in await memory.admin.find_lost_spaces(anchors):
            yield report


async def _load_anchors(settings: Settings, anchor: str | None, key: str | None) -> Sequence[Anchor]:
    if anchor is None:
        if key is not None:
            raise BadInput("--key: goes with --anchor")
        return ()
    files = open_anchor_files(settings)
    return await files.load_anchors(read_file(anchor), None if key is None else files.parse_key(key))
