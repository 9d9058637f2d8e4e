"""`show`: one memory with all that is known about it."""

from __future__ import annotations

from muniment.faces.cli import session
from muniment.faces.cli.options import (
    DEFAULT_USER,
    AsJson,
    AsOf,
    Id,
    User,
    parse_as_of as parsed,
)
from muniment.faces.cli.output import memories as prose, screen
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.memory import Memory, Neighbour


def show_memory(memory_id: Id, user: User = DEFAULT_USER, as_of: AsOf = None, as_json: AsJson = False) -> None:
    """Show one memory with all that is known about it, whatever its state.

    For example:

      muniment show 4f2a

      muniment show 4f2a --as-of 2026-05-01     # as it was at the end of that day
    """
    settings = load_settings()
    scope = session.make_scope(settings, user)
    moment = parsed(as_of)

    async def work() -> tuple[Memory, list[Neighbour]]:
        async with session.open_memory(settings, quiet=as_json) as memory:
            found = await memory.get(scope, await session.find_memory_id(memory, scope, memory_id), as_of=moment)
            # Edges have no former versions: of a memory as it was, none can be told.
            return found, [] if moment is not None else list(await memory.related(scope, found.id))

    found, related = session.run_async(work())
    fields = prose.list_fields(found)
    if as_json:
        beside = [{"id": str(one.memory.id), "text": one.memory.text, "strength": round(one.sim, 4)} for one in related]
        screen.print_json(fields | ({"related": beside} if beside else {}))
        return
    screen.print_fields(fields)
    for one in related:
        screen.print_line(
            f"related {one.sim:.2f}  {screen.shorten_id(one.memory.id)}  {screen.join_lines(one.memory.text)}"
        )
