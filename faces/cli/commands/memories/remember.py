"""`remember`: a statement becomes a memory."""

from __future__ import annotations

from typing import Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands.memories.change import print_receipt
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User, check_text
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.plan import Receipt


def remember_statement(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="One statement, as you would say it.")],
    user: User = DEFAULT_USER,
    category: Annotated[str | None, typer.Option("--category", "-c", metavar="C", help="Else found by rules.")] = None,
    aliases: Annotated[
        list[str] | None, typer.Option("--alias", metavar="NAME", help="Another name of what it is about.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Remember a statement. What is known already is strengthened or corrected, not stored twice.

    For example:

      muniment remember "I am allergic to peanuts"

      muniment remember "Ship v1 by September" --category goals --user ana

      muniment remember "Our services run on Kubernetes" --alias k8s --alias kube
    """
    settings = load_settings()
    scope = session.make_scope(settings, user)
    statement = check_text(text, "TEXT")

    async def work() -> Receipt:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.remember(scope, statement, category=category, aliases=aliases or ())

    print_receipt(session.run_async(work()), as_json=as_json, unchanged_message="Known already.")
