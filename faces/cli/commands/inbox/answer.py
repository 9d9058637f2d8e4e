"""`inbox yes`, `inbox no`, `inbox edit` and `inbox undo`: the answers, and taking them back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands.memories.change import print_receipt
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User, check_text
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.console.inbox import DecidedItem, InboxItem
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, NotFound

if TYPE_CHECKING:
    from muniment.memory.client import Memory

ItemId = Annotated[str, typer.Argument(metavar="ID", help="The id that the list shows, or its beginning.")]
_MAX_LISTED = 100
_Item = TypeVar("_Item", InboxItem, DecidedItem)


def take_item(
    item: ItemId,
    keep: Annotated[
        str | None, typer.Option("--keep", metavar="MEMORY", help="Of a dispute: the memory that holds.")
    ] = None,
    user: User = DEFAULT_USER,
    as_json: AsJson = False,
) -> None:
    """Say yes to what waits.

    For example:

      muniment inbox yes 4f2a

      muniment inbox yes 91bc --keep 77d0
    """

    async def answer(memory: Memory, scope: Scope) -> Receipt:
        found = await _find_waiting(memory, scope, item)
        kept = None if keep is None else await memory.find_id(scope, keep)
        return await memory.inbox.answer_item(scope, found.kind, found.id, approve=True, keep=kept)

    _run(answer, user, as_json=as_json)


def reject_item(item: ItemId, user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """Say no to what waits. Of a dispute it forgets every side.

    For example:

      muniment inbox no 4f2a
    """

    async def answer(memory: Memory, scope: Scope) -> Receipt:
        found = await _find_waiting(memory, scope, item)
        return await memory.inbox.answer_item(scope, found.kind, found.id, approve=False)

    _run(answer, user, as_json=as_json)


def edit_item(
    item: ItemId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The words, or the value of the profile, in its place.")],
    user: User = DEFAULT_USER,
) -> None:
    """Say yes to other words than those that wait.

    For example:

      muniment inbox edit 4f2a "Acme makes kettles"
    """
    words, settings = check_text(text, "TEXT"), load_settings()
    scope = session.make_scope(settings, user)

    async def work() -> None:
        async with session.open_memory(settings, quiet=False) as memory:
            await memory.inbox.correct_item(scope, (await _find_waiting(memory, scope, item)).id, words)

    session.run_async(work())
    screen.print_line("Your words are kept in its place.")


def undo_answer(item: ItemId, user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """Take an answer back: all is as it was before, and it waits again. `muniment inbox list --decided` has the ids.

    For example:

      muniment inbox undo 4f2a
    """

    async def undo(memory: Memory, scope: Scope) -> Receipt:
        found = _choose(await memory.inbox.list_decided(scope, _MAX_LISTED), item)
        return await memory.inbox.undo_decision(scope, found.id)

    _run(undo, user, as_json=as_json)


def _run(change: Callable[[Memory, Scope], Awaitable[Receipt]], user: str, *, as_json: bool) -> None:
    settings = load_settings()
    scope = session.make_scope(settings, user)

    async def work() -> Receipt:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await change(memory, scope)

    print_receipt(session.run_async(work()), as_json=as_json, unchanged_message="It is so already.")


async def _find_waiting(memory: Memory, scope: Scope, given: str) -> InboxItem:
    return _choose(await memory.inbox.list_items(scope, limit=_MAX_LISTED), given)


def _choose(items: Sequence[_Item], given: str) -> _Item:
    """Return the one whose id begins as given. Raises BadInput (too short, ambiguous) and NotFound."""
    start = given.strip().lower()
    if len(start) < session.MIN_ID_CHARS or set(start) - set("0123456789abcdef-"):
        raise BadInput(f"{screen.join_lines(given)!r} is no id: give {session.MIN_ID_CHARS} or more of its characters")
    found = [each for each in items if str(each.id).startswith(start)]
    if not found:
        raise NotFound(f"nothing has an id that begins with {start}; `muniment inbox list` shows what waits", id=start)
    if len(found) > 1:
        raise BadInput(f"{start} is ambiguous: {', '.join(sorted(str(each.id) for each in found))}")
    return found[0]
