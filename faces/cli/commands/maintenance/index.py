"""`index`: the indexes of large spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER, AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput

if TYPE_CHECKING:
    from muniment.memory.domain.maintenance import IndexingResult


def build_indexes(
    user: Annotated[str | None, typer.Option("--user", "-u", metavar="NAME", help="Whose memory; else me.")] = None,
    everybody: Annotated[bool, typer.Option("--all", help="Everybody's: whoever has enough memories.")] = False,
    drop: Annotated[bool, typer.Option("--drop", help="Drop the indexes: searches read every memory again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make the indexes of a large memory, or bring them up to date; from recall.index_from memories on.

    A search is right with them and without, and sees every change at once: they only make it quick. Readers and
    writers go on meanwhile. Can be repeated, also after an interruption; `muniment work` does it by itself, once an
    hour. Wants the database role that made the tables.

    For example:

      muniment index --user ana

      muniment index --all
    """
    if everybody and user is not None:
        raise BadInput("--all and --user: give one of them")
    settings = load_settings()
    results = session.run_async(
        _build_indexes(settings, None if everybody else user or DEFAULT_USER, drop=drop, quiet=as_json)
    )
    if as_json:
        screen.print_json({"spaces": [_indexing_to_json(scope, indexing) for scope, indexing in results.items()]})
        return
    for scope, indexing in results.items():
        outcome = _format_indexing(indexing, settings.recall.index_from)
        screen.print_line(f"{scope.owner}: {indexing.memories:,} memories, {outcome}")
    if not results:
        screen.print_line("Nobody has indexes." if drop else f"Nobody has {settings.recall.index_from:,} memories.")


async def _build_indexes(
    settings: Settings, user: str | None, *, drop: bool, quiet: bool
) -> dict[Scope, IndexingResult]:
    async with session.open_memory(settings, quiet=quiet) as memory:
        if user is not None:
            scope = session.make_scope(settings, user)
            with terminal.show_spinner("indexing…", quiet=quiet):
                return {scope: await memory.admin.index(scope, drop=drop)}
        with terminal.show_progress("indexing spaces", None, quiet=quiet) as move:
            return dict(await memory.admin.index_all(move, drop=drop))


def _indexing_to_json(scope: Scope, indexing: IndexingResult) -> dict[str, Any]:
    return {
        "user": scope.owner,
        "tenant": scope.tenant,
        "owner_type": scope.owner_type,
        "memories": indexing.memories,
        "indexed": indexing.indexed,
        "made": list(indexing.made),
    }


def _format_indexing(indexing: IndexingResult, index_from: int) -> str:
    if "dropped" in indexing.made:
        return "indexes dropped"
    if indexing.full:
        return "not indexed: as many spaces have indexes as writes can bear; drop another's"
    if not indexing.indexed:
        return (
            f"not indexed: below {index_from:,} every memory is read"
            if indexing.memories < index_from
            else "not indexed"
        )
    return "indexed anew" if indexing.made else "indexed already"
