"""`edit`: a memory is changed by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from muniment.faces.cli.commands.memories.change import change_memory
from muniment.faces.cli.options import DEFAULT_USER, AsJson, Id, User, check_text
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput

if TYPE_CHECKING:
    from muniment.memory.client import Memory
    from muniment.memory.domain.ids import MemoryId


def edit_memory(
    memory_id: Id,
    text: Annotated[str | None, typer.Option("--text", metavar="TEXT", help="What it says from now on.")] = None,
    category: Annotated[str | None, typer.Option("--category", "-c", metavar="C", help="Its category.")] = None,
    importance: Annotated[
        int | None, typer.Option("--importance", metavar="N", min=1, max=5, help="How important it is, 1 to 5.")
    ] = None,
    user: User = DEFAULT_USER,
    as_json: AsJson = False,
) -> None:
    """Change a memory by hand. What it said before can be brought back with `muniment restore --version`.

    A value of the profile that you change this way is approved by that. Its other names are changed with `muniment
    alias`.

    For example:

      muniment edit 4f2a --text "The user lives in Porto"

      muniment edit 4f2a --category goals --importance 5
    """
    if text is None and category is None and importance is None:
        raise BadInput("nothing to change is given; give --text, --category or --importance")
    words = None if text is None else check_text(text, "--text")

    async def change(memory: Memory, scope: Scope, id_: MemoryId) -> Receipt:
        receipt = await memory.edits.change_memory(scope, id_, text=words, category=category, importance=importance)
        if asked := [request.id for request in receipt.consent_requests]:
            await memory.decide_consents(scope, asked, approve=True)
        return receipt

    change_memory(memory_id, user, change, as_json=as_json, unchanged_message="It is so already.")
