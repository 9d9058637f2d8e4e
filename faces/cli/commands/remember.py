"""`remember`, `pin`, `unpin`, `forget`, `restore`: changes by hand. Each is one revision in the history."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands import erase as erasing, scrub as scrubbing
from muniment.faces.cli.options import ME, AsJson, Id, User, words
from muniment.faces.cli.output import screen
from muniment.memory import codec as wire
from muniment.memory.config.settings import load
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput

if TYPE_CHECKING:
    from muniment.memory.client import Memory

Step = Callable[["Memory", Scope, MemoryId], Awaitable[Receipt]]


def remember(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="One statement, as you would say it.")],
    user: User = ME,
    category: Annotated[str | None, typer.Option("--category", "-c", metavar="C", help="Else found by rules.")] = None,
    as_json: AsJson = False,
) -> None:
    """Remember a statement. What is known already is strengthened or corrected, not stored twice.

    For example:

      muniment remember "I am allergic to peanuts"

      muniment remember "Ship v1 by September" --category goals --user ana
    """
    settings = load()
    scope = session.scope_of(settings, user)
    said = words(text, "TEXT")

    async def work() -> Receipt:
        async with session.opened(settings, quiet=as_json) as memory:
            return await memory.remember(scope, said, category=category)

    _show(session.run(work()), as_json=as_json, none="Known already.")


def pin(memory_id: Id, user: User = ME, as_json: AsJson = False) -> None:
    """Pin a memory: it ranks higher and its changes are told first.

    For example:

      muniment pin 4f2a
    """
    _change(
        memory_id, user, lambda memory, scope, found: memory.pin(scope, found), as_json=as_json, none="Pinned already."
    )


def unpin(memory_id: Id, user: User = ME, as_json: AsJson = False) -> None:
    """Take the pin off a memory.

    For example:

      muniment unpin 4f2a
    """
    _change(memory_id, user, lambda memory, scope, found: memory.pin(scope, found, pinned=False), as_json=as_json,
            none="Was not pinned.")  # fmt: skip


def forget(
    memory_id: Id,
    user: User = ME,
    hard: Annotated[bool, typer.Option("--hard", help="For good, with all that says it elsewhere.")] = False,
    yes: scrubbing.Yes = False,
    scrub: erasing.Scrub = False,
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
        erasing.hard(memory_id, user, yes=yes, scrub=scrub, as_json=as_json)
        return
    if yes or scrub:
        raise BadInput("--yes and --scrub go with --hard only")
    _change(memory_id, user, lambda memory, scope, found: memory.forget(scope, found), as_json=as_json,
            none="Forgotten already.")  # fmt: skip


def restore(memory_id: Id, user: User = ME, as_json: AsJson = False) -> None:
    """Bring a forgotten memory back.

    For example:

      muniment restore 4f2a
    """
    _change(memory_id, user, lambda memory, scope, found: memory.restore(scope, found), as_json=as_json,
            none="Was not forgotten.")  # fmt: skip


def _change(typed: str, user: str, step: Step, *, as_json: bool, none: str) -> None:
    settings = load()
    scope = session.scope_of(settings, user)

    async def work() -> Receipt:
        async with session.opened(settings, quiet=as_json) as memory:
            return await step(memory, scope, await session.find(memory, scope, typed))

    _show(session.run(work()), as_json=as_json, none=none)


def _show(receipt: Receipt, *, as_json: bool, none: str) -> None:
    if as_json:
        screen.show_json(wire.receipt(receipt))
        return
    for change in receipt.changes:
        after = change.after
        screen.say(f"{change.action} {screen.short(after.id)} [{after.category}] {screen.one_line(after.text)}")
    for reason in receipt.refused:
        screen.say(f"not remembered: {screen.one_line(reason)}")
    if not receipt.changes and not receipt.refused:
        screen.say(none)
