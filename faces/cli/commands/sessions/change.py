"""`sessions end` and `sessions keep`."""

from __future__ import annotations

from typing import Annotated

import typer

from muniment.faces.cli import session as cli
from muniment.faces.cli.commands.sessions.read import SessionId
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.layers.session import Session
from muniment.memory.errors import BadInput
from muniment.memory.payload import encode_session


def end_session(
    session_id: SessionId,
    user: User = DEFAULT_USER,
    why: Annotated[str, typer.Option(metavar="TEXT", help="Why it ends.")] = "call",
    as_json: AsJson = False,
) -> None:
    """End a session: memories are built from the turns that wait. A later turn lets it go on.

    For example:

      muniment sessions end 3f2a --why "closed by the user"
    """
    settings = load_settings()
    scope = cli.make_scope(settings, user)

    async def work() -> Session:
        async with cli.open_memory(settings, quiet=as_json) as memory:
            return await memory.sessions.end(scope, session_id, why=why)

    session = cli.run_async(work())
    if as_json:
        screen.print_json({"user": scope.owner, "session": encode_session(session)})
    else:
        screen.print_line(f"The session has ended; built from {session.built_to} of {session.turns} turns.")


def keep_session(
    session_id: SessionId,
    user: User = DEFAULT_USER,
    days: Annotated[int | None, typer.Option(metavar="N", min=1, help="So many days after its last turn.")] = None,
    forever: Annotated[bool, typer.Option("--forever", help="It is never removed by its age.")] = False,
    as_json: AsJson = False,
) -> None:
    """Keep what was said in a session for days of its own, instead of session_ledger.retention_days.

    For example:

      muniment sessions keep 3f2a --days 90

      muniment sessions keep 3f2a --forever
    """
    if (days is None) != forever:
        raise BadInput("give either --days or --forever")
    settings = load_settings()
    scope = cli.make_scope(settings, user)

    async def work() -> Session:
        async with cli.open_memory(settings, quiet=as_json) as memory:
            return await memory.sessions.keep(scope, session_id, days=days)

    session = cli.run_async(work())
    if as_json:
        screen.print_json({"user": scope.owner, "session": encode_session(session)})
    else:
        screen.print_line("It is kept for ever." if days is None else f"It is kept {days} days after its last turn.")
