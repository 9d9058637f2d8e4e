"""`projections list` and `projections conflicts`: what the memories say slot by slot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, cast

import typer

from muniment.faces.cli import options, session
from muniment.faces.cli.options import DEFAULT_USER, AsJson, AsOf, User, parse_as_of
from muniment.faces.cli.output import projections as view
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.layers.projections import PROJECTION_STATUSES, Projection, ProjectionStatus
from muniment.memory.errors import BadInput

_DEFAULT: tuple[ProjectionStatus, ...] = ("active", "conflict", "pending")


def list_projections(
    user: User = DEFAULT_USER,
    types: Annotated[
        list[str] | None, typer.Option("--type", metavar="a,b", help="Only these, such as user_profile or episode.")
    ] = None,
    statuses: Annotated[
        list[str] | None,
        typer.Option("--status", metavar="a,b", help=f"Of {', '.join(PROJECTION_STATUSES)}; else what is current."),
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="At most so many.")] = 100,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """List what the memories say, slot by slot: what is active, what contradicts it, and what waits for a review.

    For example:

      muniment projections list --type user_profile

      muniment projections list --type episode --as-of 2026-05-01
    """
    settings = load_settings()
    scope = session.make_scope(settings, user)
    moment, chosen = parse_as_of(as_of), _parse_statuses(statuses)

    async def work() -> Sequence[Projection]:
        async with session.open_memory(settings, quiet=as_json) as memory:
            named = options.split_list(types, "--type")
            return await memory.projections.list(scope, types=named, statuses=chosen, limit=limit, as_of=moment)

    view.print_projections(session.run_async(work()), as_json=as_json, hint="Nothing is projected yet.")


def list_conflicts(user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """List the slots in which memories that are trusted alike say different things, the one that counts first.

    Forget the one that is wrong (`muniment forget`), or say again what holds.

    For example:

      muniment projections conflicts --user ana
    """
    settings = load_settings()
    scope = session.make_scope(settings, user)

    async def work() -> Sequence[Sequence[Projection]]:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.projections.list_conflicts(scope)

    slots = session.run_async(work())
    disputed = [each for slot in slots for each in slot]
    view.print_projections(disputed, as_json=as_json, hint="No two memories contradict each other.")


def _parse_statuses(given: list[str] | None) -> tuple[ProjectionStatus, ...]:
    named = options.split_list(given, "--status")
    if unknown := sorted(set(named) - set(PROJECTION_STATUSES)):
        raise BadInput(f"--status: unknown status {unknown[0]!r}; allowed: {', '.join(PROJECTION_STATUSES)}")
    return cast("tuple[ProjectionStatus, ...]", named) or _DEFAULT
