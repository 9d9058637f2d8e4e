"""`index`: the indexes of large spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import ME, AsJson
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import Settings, load
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput

if TYPE_CHECKING:
    from muniment.memory.domain.maintenance import Indexing


def index(
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
    settings = load()
    done = session.run(_index(settings, None if everybody else user or ME, drop=drop, quiet=as_json))
    if as_json:
        screen.show_json({"spaces": [_row(scope, found) for scope, found in done.items()]})
        return
    for scope, found in done.items():
        screen.say(f"{scope.owner}: {found.memories:,} memories, {_sentence(found, settings.recall.index_from)}")
    if not done:
        screen.say("Nobody has indexes." if drop else f"Nobody has {settings.recall.index_from:,} memories.")


async def _index(settings: Settings, user: str | None, *, drop: bool, quiet: bool) -> dict[Scope, Indexing]:
    async with session.opened(settings, quiet=quiet) as memory:
        if user is not None:
            scope = session.scope_of(settings, user)
            with screen.waiting("indexing…", quiet=quiet):
                return {scope: await memory.index(scope, drop=drop)}
        with screen.progress("indexing spaces", None, quiet=quiet) as move:
            return dict(await memory.index_all(move, drop=drop))


def _row(scope: Scope, found: Indexing) -> dict[str, Any]:
    return {"user": scope.owner, "tenant": scope.tenant, "owner_type": scope.owner_type, "memories": found.memories,
            "indexed": found.indexed, "made": list(found.made)}  # fmt: skip


def _sentence(found: Indexing, least: int) -> str:
    if "dropped" in found.made:
        return "indexes dropped"
    if found.full:
        return "not indexed: as many spaces have indexes as writes can bear; drop another's"
    if not found.indexed:
        return f"not indexed: below {least:,} every memory is read" if found.memories < least else "not indexed"
    return "indexed anew" if found.made else "indexed already"
