"""`remember`: a statement becomes a memory."""

from __future__ import annotations

from typing import Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands.memories.change import print_receipt
from muniment.faces.cli.options import DEFAULT_USER, AsJson, Project, Session, User, check_text
from muniment.memory import query_codec
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.memory import REACHES
from muniment.memory.domain.plan import Receipt
from muniment.memory.errors import BadInput


def remember_statement(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="One statement, as you would say it.")],
    user: User = DEFAULT_USER,
    category: Annotated[str | None, typer.Option("--category", "-c", metavar="C", help="Else found by rules.")] = None,
    aliases: Annotated[
        list[str] | None, typer.Option("--alias", metavar="NAME", help="Another name of what it is about.")
    ] = None,
    project: Project = None,
    session_name: Session = None,
    app: Annotated[str | None, typer.Option("--app", metavar="A", help="The app through which it is said.")] = None,
    reach: Annotated[
        str, typer.Option("--reach", metavar="|".join(REACHES), help="Where it is found: everywhere, or there alone.")
    ] = "user",
    source: Annotated[
        str | None, typer.Option("--source", metavar="S", help="Name or address of what it comes from; shown with it.")
    ] = None,
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="TIME", help="From then on no answer has it: ISO, in UTC.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Remember a statement. What is known already is strengthened or corrected, not stored twice.

    For example:

      muniment remember "I am allergic to peanuts"

      muniment remember "Ship v1 by September" --category goals --user ana

      muniment remember "Our services run on Kubernetes" --alias k8s --alias kube

      muniment remember "We build with pnpm" --project harbour --reach project --source docs/build.md

      muniment remember "The VPN is down" --expires 2026-12-01
    """
    settings = load_settings()
    scope = session.make_scope(settings, user, project=project, session=session_name, app=app)
    statement = check_text(text, "TEXT")
    if reach not in REACHES:
        raise BadInput(f"--reach: unknown reach {reach!r}; allowed: {', '.join(REACHES)}")
    end = None if expires is None else query_codec.parse_time(expires, "--expires")

    async def work() -> Receipt:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.remember(
                scope,
                statement,
                category=category,
                aliases=aliases or (),
                reach=reach,
                source=source,
                expires_at=end,
            )

    print_receipt(session.run_async(work()), as_json=as_json, unchanged_message="Known already.")
