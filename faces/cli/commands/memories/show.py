"""`show`: one memory with all that is known about it."""

from __future__ import annotations

from typing import Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import (
    DEFAULT_USER,
    AsJson,
    AsOf,
    Id,
    User,
    parse_as_of,
)
from muniment.faces.cli.output import memories as view, screen
from muniment.faces.cli.output.projections import encode_lineage, print_lineage
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.layers.projections import Lineage
from muniment.memory.domain.memory import Neighbour, StoredMemory


def show_memory(
    memory_id: Id,
    user: User = DEFAULT_USER,
    as_of: AsOf = None,
    with_lineage: Annotated[
        bool, typer.Option("--lineage", help="Also what it comes from and what it is part of, as it is now.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show one memory with all that is known about it, whatever its state.

    For example:

      muniment show 4f2a

      muniment show 4f2a --as-of 2026-05-01     # as it was at the end of that day

      muniment show 4f2a --lineage
    """
    settings = load_settings()
    scope = session.make_scope(settings, user)
    moment = parse_as_of(as_of)

    async def work() -> tuple[StoredMemory, list[Neighbour], Lineage | None]:
        async with session.open_memory(settings, quiet=as_json) as memory:
            record = await memory.get(scope, await memory.find_id(scope, memory_id), as_of=moment)
            # Edges have no former versions: for a memory as it was, none is shown.
            near = [] if moment is not None else list(await memory.find_related(scope, record.id))
            return record, near, await memory.projections.trace_lineage(scope, record.id) if with_lineage else None

    record, neighbours, lineage = session.run_async(work())
    fields = view.list_fields(record)
    if as_json:
        related = [
            {"id": str(neighbour.memory.id), "text": neighbour.memory.text, "strength": round(neighbour.sim, 4)}
            for neighbour in neighbours
        ]
        traced = {"lineage": encode_lineage(lineage)} if lineage else {}
        screen.print_json(fields | ({"related": related} if related else {}) | traced)
        return
    screen.print_fields(fields)
    for neighbour in neighbours:
        id_, text = screen.shorten_id(neighbour.memory.id), screen.join_lines(neighbour.memory.text)
        screen.print_line(f"related {neighbour.sim:.2f}  {id_}  {text}")
    if lineage:
        print_lineage(lineage)
