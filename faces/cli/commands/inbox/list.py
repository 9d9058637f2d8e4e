"""`inbox list`: what waits for a person, and what was decided lately."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import screen, terminal
from muniment.memory import codec
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.console.inbox import DecidedItem, InboxItem

_MAX_LISTED = 100
_HINT = "Answer with `muniment inbox yes ID` or `muniment inbox no ID`."


def list_waiting(
    user: User = DEFAULT_USER,
    decided: Annotated[bool, typer.Option("--decided", help="What you have decided, and can take back.")] = False,
    as_json: AsJson = False,
) -> None:
    """List what waits for you, newest first, at most 100 things.

    For example:

      muniment inbox list --user ana

      muniment inbox list --decided
    """
    settings = load_settings()
    scope = session.make_scope(settings, user)

    async def work() -> Sequence[InboxItem] | Sequence[DecidedItem]:
        async with session.open_memory(settings, quiet=as_json) as memory:
            if decided:
                return await memory.inbox.list_decided(scope, _MAX_LISTED)
            return await memory.inbox.list_items(scope, limit=_MAX_LISTED)

    found = session.run_async(work())
    if as_json:
        screen.print_json([codec.encode_record(each) for each in found])
        return
    for each in found:
        screen.print_line(_format_item(each) if isinstance(each, InboxItem) else _format_decision(each))
    if not decided:
        terminal.print_hint(_HINT if found else "Nothing waits for you.")


def _format_item(item: InboxItem) -> str:
    """Return a line of one thing, and below it the memories that it names, which a dispute is ended by."""
    if item.request is not None:
        what = f"{item.request.field}: {item.request.value}" + (
            f" (now {item.request.old})" if item.request.old else ""
        )
    else:
        what = item.slot or item.memories[0].text
    lines = [f"{screen.shorten_id(item.id)}  {item.kind:<13}  {screen.join_lines(what)}"]
    others = {"conflict": item.memories, "contradiction": item.memories[1:]}.get(item.kind, ())
    lines += [f"    {screen.shorten_id(each.id)}  {screen.join_lines(each.text)}" for each in others]
    return "\n".join(lines)


def _format_decision(item: DecidedItem) -> str:
    what = f"{item.field}: {item.text}" if item.field else item.text
    return (
        f"{screen.shorten_id(item.id)}  {'yes' if item.is_yes else 'no':<3}  {item.kind:<13}  {screen.join_lines(what)}"
    )
