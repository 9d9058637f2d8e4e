"""`projections rebuild`: all projections are made anew."""

from __future__ import annotations

from dataclasses import asdict

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.layers.projections import RebuildResult


def rebuild_projections(user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """Make all projections of a user anew from the memories, while writers wait. Each write keeps them, so that this
    changes nothing, unless a type is new.

    For example:

      muniment projections rebuild --user ana
    """
    settings = load_settings()
    scope = session.make_scope(settings, user)

    async def work() -> RebuildResult:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.projections.rebuild(scope)

    done = session.run_async(work())
    if as_json:
        screen.print_json({"user": scope.owner, **asdict(done)})
    else:
        screen.print_line(
            f"{done.after:,} projections of revision {done.rev:,}, {done.changed:,} of them other than before"
        )
