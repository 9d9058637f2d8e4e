"""`remember`, `pin`, `unpin`, `forget`, `restore`: changes by hand. Each is one revision in the history."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands import erase, scrub as scrubbing
from muniment.faces.cli.options import DEFAULT_USER, AsJson, Id, User, check_text
from muniment.faces.cli.output import screen
from muniment.memory import codec
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput

if TYPE_CHECKING:
    from muniment.memory.client import Memory

MemoryAction = Callable[["Memory", Scope, MemoryId], Awaitable[Receipt]]


def remember_statement(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="One statement, as you would say it.")],
    user: User = DEFAULT_USER,
    category: Annotated[str | None, typer.Option("--category", "-c", metavar="C", help="Else found by rules.")] = None,
    as_json: AsJson = False,
) -> None:
    """Remember a statement. What is known already is strengthened or corrected, not stored twice.

    For example:

      muniment remember "I am allergic to peanuts"

      muniment remember "Ship v1 by September" --category goals --user ana
    """
    settings = load_settings()
    scope = session.make_scope(settings, user)
    statement = check_text(text, "TEXT")

    async def work() -> Receipt:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.remember(scope, statement, category=category)

    _print_receipt(session.run_async(work()), as_json=as_json, unchanged_message="Known already.")


def pin_memory(memory_id: Id, user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """Pin a memory: it ranks higher and its changes are told first.

    For example:

      muniment pin 4f2a
    """
    _change_memory(
        memory_id,
        user,
        lambda memory, scope, found: memory.pin(scope, found),
        as_json=as_json,
        unchanged_message="Pinned already.",
    )


def unpin_memory(memory_id: Id, user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """Take the pin off a memory.

    For example:

      muniment unpin 4f2a
    """
    _change_memory(memory_id, user, lambda memory, scope, found: memory.pin(scope, found, pinned=False), as_json=as_json,
            unchanged_message="Was not pinned.")  # fmt: skip


def forget_memory(
    memory_id: Id,
    user: User = DEFAULT_USER,
    hard: Annotated[bool, typer.Option("--hard", help="For good, with all that says it elsewhere.")] = False,
    yes: scrubbing.Yes = False,
    scrub: erase.Scrub = False,
    as_json: AsJson = False,
) -> None:
    """Forget a memory: it is in no answer any more, and can be restored for write.soft_delete_days (30).

    With --hard it is gone at once and for good, former texts included, and so is what says it elsewhere: what was said in
    the turns that it comes from or that repeat it, memories that were made of it, and the checkpoints of the threads in
    which it was said or recalled. What will go is shown first.

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
    _change_memory(memory_id, user, lambda memory, scope, found: memory.forget(scope, found), as_json=as_json,
            unchanged_message="Forgotten already.")  # fmt: skip


def restore_memory(memory_id: Id, user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """Bring a forgotten memory back.

    For example:

      muniment restore 4f2a
    """
    _change_memory(memory_id, user, lambda memory, scope, found: memory.restore(scope, found), as_json=as_json,
            unchanged_message="Was not forgotten.")  # fmt: skip


def _change_memory(prefix: str, user: str, action: MemoryAction, *, as_json: bool, unchanged_message: str) -> None:
    settings = load_settings()
    scope = session.make_scope(settings, user)

    async def work() -> Receipt:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await action(memory, scope, await session.find_memory_id(memory, scope, prefix))

    _print_receipt(session.run_async(work()), as_json=as_json, unchanged_message=unchanged_message)


def _print_receipt(receipt: Receipt, *, as_json: bool, unchanged_message: str) -> None:
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
    if not receipt.changes and not receipt.refused:
        screen.print_line(unchanged_message)
