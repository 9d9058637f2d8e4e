"""`relate`: how one thing stands to another becomes a memory."""

from __future__ import annotations

from typing import Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands.memories.change import print_receipt
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User, check_text
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.plan import Receipt


def relate_things(
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="Whom or what it is said of.")],
    predicate: Annotated[str, typer.Argument(metavar="PREDICATE", help='How: "depends on", "works with".')],
    value: Annotated[str, typer.Argument(metavar="OBJECT", help="With regard to whom or what.")],
    single: Annotated[bool, typer.Option("--single", help="There is one at a time: it replaces the old one.")] = False,
    user: User = DEFAULT_USER,
    category: Annotated[str, typer.Option("--category", "-c", metavar="C", help="Its category.")] = "relationships",
    as_json: AsJson = False,
) -> None:
    """Keep how one thing stands to another. A question about either finds it.

    For example:

      muniment relate Wayfinder "depends on" Kafka

      muniment relate Wayfinder "is owned by" Beatriz --single
    """
    settings = load_settings()
    scope = session.make_scope(settings, user)
    parts = [
        check_text(text, name) for text, name in ((subject, "SUBJECT"), (predicate, "PREDICATE"), (value, "OBJECT"))
    ]

    async def work() -> Receipt:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.relate(scope, *parts, category=category, single=single)

    print_receipt(session.run_async(work()), as_json=as_json, unchanged_message="Known already.")
