"""`restore`: a forgotten memory comes back."""

from __future__ import annotations

from muniment.faces.cli.commands.memories.change import change_memory
from muniment.faces.cli.options import DEFAULT_USER, AsJson, Id, User


def restore_memory(memory_id: Id, user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """Bring a forgotten memory back.

    For example:

      muniment restore 4f2a
    """
    change_memory(
        memory_id,
        user,
        lambda memory, scope, id_: memory.restore(scope, id_),
        as_json=as_json,
        unchanged_message="Was not forgotten.",
    )
