"""What the commands that change one memory share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from muniment.faces.cli import session
from muniment.faces.cli.output import screen, terminal
from muniment.memory import codec
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope

if TYPE_CHECKING:
    from muniment.memory.client import Memory


MemoryAction = Callable[["Memory", Scope, MemoryId], Awaitable[Receipt]]


def change_memory(prefix: str, user: str, action: MemoryAction, *, as_json: bool, unchanged_message: str) -> None:
    """Do the action on the memory whose id begins with `prefix`, and print the receipt. Raises BadInput, NotFound."""
    settings = load_settings()
    scope = session.make_scope(settings, user)

    async def work() -> Receipt:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await action(memory, scope, await memory.find_id(scope, prefix))

    print_receipt(session.run_async(work()), as_json=as_json, unchanged_message=unchanged_message)


def print_receipt(receipt: Receipt, *, as_json: bool, unchanged_message: str) -> None:
    """Print the changes and refusals of a receipt; without any, the message."""
    if as_json:
        screen.print_json(codec.encode_receipt(receipt))
        return
    for change in receipt.changes:
        after = change.after
        screen.print_line(
            f"{change.action} {screen.shorten_id(after.id)} [{after.category}] {screen.join_lines(after.text)}"
        )
    for reason in receipt.refused:
        screen.print_line(f"not remembered: {screen.join_lines(reason)}")
    for what in receipt.left_out:
        screen.print_line(f"left out: {screen.join_lines(what)}")
    if receipt.degraded:
        terminal.print_hint("The embedder does not answer: found by its words until `muniment work` embeds it.")
    if not receipt.changes and not receipt.refused:
        screen.print_line(unchanged_message)
