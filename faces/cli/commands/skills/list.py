"""`skills list` and `skills show`: what is published, and what waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import projections as view, screen
from muniment.memory import codec
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.layers.projections import PROJECTION_STATUSES, Projection

SkillId = Annotated[str, typer.Argument(metavar="ID", help="As the list shows it; its beginning is enough.")]


def list_skills(
    user: User = DEFAULT_USER,
    everything: Annotated[bool, typer.Option("--all", help="Also what is rejected or has been replaced.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the skills that planner and executor read, and those that wait for your review (procedures.review).

    For example:

      muniment skills list --user ana
    """
    settings = load_settings()
    scope = session.make_scope(settings, user)

    async def work() -> Sequence[Projection]:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.projections.list_skills(
                scope, statuses=PROJECTION_STATUSES if everything else (), limit=1000
            )

    view.print_projections(session.run_async(work()), as_json=as_json, hint="No skill is known yet.")


def show_skill(given: SkillId, user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """Show a skill: its goal, its steps, and what failed on the way.

    For example:

      muniment skills show 4f2a
    """
    settings = load_settings()
    scope = session.make_scope(settings, user)

    async def work() -> Projection:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.projections.find_skill(scope, given)

    skill = session.run_async(work())
    if as_json:
        screen.print_json(codec.encode_record(skill))
        return
    fields = {"id": str(skill.id), "status": skill.status, "memory": str(skill.memory), "at": skill.at.isoformat()}
    screen.print_fields(fields | {name: value for name, value in skill.data.items() if value})
