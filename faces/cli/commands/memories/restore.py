"""`restore`: a forgotten memory comes back, or a former version of one."""

from __future__ import annotations

from typing import Annotated

import typer

from muniment.faces.cli.commands.memories.change import change_memory
from muniment.faces.cli.options import DEFAULT_USER, AsJson, Id, User
from muniment.memory.domain.ids import Revision


def restore_memory(
    memory_id: Id,
    version: Annotated[
        int | None,
        typer.Option("--version", metavar="REV", min=1, help="Let it say again what it said at this revision."),
    ] = None,
    user: User = DEFAULT_USER,
    as_json: AsJson = False,
) -> None:
    """Bring a forgotten memory back, or with --version what a memory said at a revision of `muniment history`.

    For example:

      muniment restore 4f2a

      muniment restore 4f2a --version 812
    """
    if version is not None:
        former = Revision(version)
        change_memory(
            memory_id,
            user,
            lambda memory, scope, id_: memory.edits.restore_version(scope, id_, former),
            as_json=as_json,
            unchanged_message="It says this already.",
        )
        return
    change_memory(
        memory_id,
        user,
        lambda memory, scope, id_: memory.restore(scope, id_),
        as_json=as_json,
        unchanged_message="Was not forgotten.",
    )
