"""`forget`: a memory goes, for a while or for good."""

from __future__ import annotations

from typing import Annotated

import typer

from muniment.faces.cli.commands.erasure import erase, scrub as scrubbing
from muniment.faces.cli.commands.memories.change import change_memory
from muniment.faces.cli.options import DEFAULT_USER, AsJson, Id, User
from muniment.memory.errors import BadInput


def forget_memory(
    memory_id: Id,
    user: User = DEFAULT_USER,
    hard: Annotated[bool, typer.Option("--hard", help="For good, with all that says it elsewhere.")] = False,
    yes: scrubbing.Yes = False,
    scrub: erase.Scrub = False,
    as_json: AsJson = False,
) -> None:
    """Forget a memory: it is in no answer any more, and can be restored for write.soft_delete_days (30).

    With --hard it is gone at once and for good, former texts included, and so is what says it elsewhere: what was
    said in the turns that it comes from or that repeat it, memories that were made of it, and the checkpoints of the
    threads in which it was said or recalled. What will go is shown first.

    For example:

      muniment forget 4f2a

      muniment list --state soft_deleted     # what can be restored

      muniment forget 4f2a --hard
    """
    if hard:
        erase.erase_memory(memory_id, user, yes=yes, scrub=scrub, as_json=as_json)
        return
    if yes or scrub:
        raise BadInput("--yes and --scrub go with --hard only")
    change_memory(
        memory_id,
        user,
        lambda memory, scope, id_: memory.forget(scope, id_),
        as_json=as_json,
        unchanged_message="Forgotten already.",
    )
