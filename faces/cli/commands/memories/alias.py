"""`alias`: other names of what a memory is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands.memories.change import change_memory
from muniment.faces.cli.options import DEFAULT_USER, AsJson, Id, User
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope

if TYPE_CHECKING:
    from muniment.memory.client import Memory


def change_aliases(
    memory_id: Id,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME…", help="Names to add.", show_default=False)
    ] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", metavar="NAME", help="A name to take away.")] = None,
    user: User = DEFAULT_USER,
    as_json: AsJson = False,
) -> None:
    """Give a memory other names of what it is about, by which it is found. Without a name, list those it has.

    For example:

      muniment alias 4f2a k8s kube

      muniment alias 4f2a --remove kube

      muniment alias 4f2a                       # lists them
    """
    if not names and not remove:
        _list_aliases(memory_id, user, as_json=as_json)
        return
    gone = {name.casefold() for name in remove or ()}

    async def change(memory: Memory, scope: Scope, id_: MemoryId) -> Receipt:
        known = (await memory.get(scope, id_)).aliases
        kept = [alias for alias in known if alias.casefold() not in gone]
        return await memory.set_aliases(scope, id_, [*kept, *(names or ())])

    change_memory(memory_id, user, change, as_json=as_json, unchanged_message="It has these names already.")


def _list_aliases(memory_id: str, user: str, *, as_json: bool) -> None:
    settings = load_settings()
    scope = session.make_scope(settings, user)

    async def work() -> tuple[MemoryId, Sequence[str]]:
        async with session.open_memory(settings, quiet=as_json) as memory:
            record = await memory.get(scope, memory_id)
            return record.id, record.aliases

    id_, aliases = session.run_async(work())
    if as_json:
        screen.print_json({"id": str(id_), "aliases": list(aliases)})
        return
    for alias in aliases:
        screen.print_line(alias)
    if not aliases:
        screen.print_line("No other names.")
