"""`pin` and `unpin`: a pinned memory ranks higher."""

from __future__ import annotations

from muniment.faces.cli.commands.memories.change import change_memory
from muniment.faces.cli.options import DEFAULT_USER, AsJson, Id, User


def pin_memory(memory_id: Id, user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """Pin a memory: it ranks higher and its changes are told first.

    For example:

      muniment pin 4f2a
    """
    change_memory(
        memory_id,
        user,
        lambda memory, scope, id_: memory.pin(scope, id_),
        as_json=as_json,
        unchanged_message="Pinned already.",
    )


def unpin_memory(memory_id: Id, user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """Take the pin off a memory.

    For example:

      muniment unpin 4f2a
    """
    change_memory(
        memory_id,
        user,
        lambda memory, scope, id_: memory.pin(scope, id_, pinned=False),
        as_json=as_json,
        unchanged_message="Was not pinned.",
    )
