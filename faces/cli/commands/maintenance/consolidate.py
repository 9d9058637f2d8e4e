"""`consolidate`: of memories that say the same, or are no longer so, one stays."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER, AsJson
from muniment.faces.cli.output import consolidation, screen, terminal
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.consolidation import Finding, Run
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, Busy, NotFound

if TYPE_CHECKING:
    from muniment.memory.client import Memory
from muniment.faces.cli.commands.maintenance import consolidate_all, consolidation_runs

Limit = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Check at most so many pairs, whatever the day has left (consolidation.per_day)."
    ),
]
Undo = Annotated[
    str | None, typer.Option(metavar="RUN", help="Take back what a run did: its id, or the beginning of it.")
]
Cancel = Annotated[str | None, typer.Option(metavar="RUN", help="Call off a run that waits for a batch endpoint.")]
Unchanged = Annotated[
    bool,
    typer.Option(
        "--unchanged", help="With --all or --tenant: those, too, whose memory has not changed since its last run."
    ),
]


def run_consolidation(
    user: Annotated[str | None, typer.Option("--user", "-u", metavar="NAME", help="Whose memory; else me.")] = None,
    tenant: Annotated[str | None, typer.Option("--tenant", metavar="T", help="Everybody's of this tenant.")] = None,
    everybody: Annotated[bool, typer.Option("--all", help="Everybody's, of every tenant.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done; change nothing.")] = False,
    limit: Limit = None,
    undo: Undo = None,
    cancel: Cancel = None,
    unchanged: Unchanged = False,
    runs: Annotated[bool, typer.Option("--runs", help="Show the latest runs.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find memories that say the same, or that a later one has outdated, and let one of each two stay.

    The one that stays keeps its words and gets what supports the other one, which is no longer in any answer; nothing
    is lost, and a run can be undone. Pairs are looked at closest first, by the rules where they are sure and else by
    the model, if one is configured (MUNIMENT_MODEL). Words of two people, two numbers, a thing and its denial are
    never made one. A pair that was looked at is left alone for consolidation.fingerprint_days.

    --all and --tenant T look at one user after another, and pass over those in whose memory nothing has changed since
    it was compared, and those where another run is at work. With --json each is a line, and the last line has the
    sums. With consolidation.batch a run waits for the model's answers, and `muniment work` collects them.

    --dry-run asks the model, too, and costs what that costs. --undo makes of every memory what it was before the run,
    except for those that have changed since.

    For example:

      muniment consolidate --user ana --dry-run

      muniment consolidate --user ana

      muniment consolidate --user ana --undo 3fa1

      muniment consolidate --user ana --cancel 3fa1

      muniment consolidate --all
    """
    settings = load_settings()
    many = everybody or tenant is not None
    _check_options(
        target_count=sum((user is not None, tenant is not None, everybody)),
        action_count=sum((undo is not None, cancel is not None, runs, dry_run or limit is not None)),
        is_about_runs=undo is not None or cancel is not None or runs,
        has_many_spaces=many,
        unchanged=unchanged,
    )
    scope = session.make_scope(settings, user or DEFAULT_USER)
    if undo is not None:
        consolidation_runs.undo_run(settings, scope, undo, as_json=as_json)
    elif cancel is not None:
        consolidation_runs.cancel_run(settings, scope, cancel, as_json=as_json)
    elif runs:
        consolidation_runs.list_runs(settings, scope, as_json=as_json)
    elif many:
        consolidate_all.consolidate_spaces(
            settings, tenant, dry=dry_run, limit=limit, unchanged=unchanged, as_json=as_json
        )
    else:
        _consolidate_user(settings, scope, dry=dry_run, limit=limit, as_json=as_json)


def _check_options(
    *, target_count: int, action_count: int, is_about_runs: bool, has_many_spaces: bool, unchanged: bool
) -> None:
    """Refuse options that contradict each other. Raises BadInput."""
    if target_count > 1:
        raise BadInput("--user, --tenant and --all: give one of them")
    if action_count > 1:
        raise BadInput("--undo, --cancel and --runs stand alone")
    if has_many_spaces and is_about_runs:
        raise BadInput("--undo, --cancel and --runs are about one user: give --user")
    if unchanged and not has_many_spaces:
        raise BadInput("--unchanged goes with --all or --tenant: one user's memory is looked at in any case")


def _consolidate_user(settings: Settings, scope: Scope, *, dry: bool, limit: int | None, as_json: bool) -> None:
    findings: list[Finding] = []

    async def work() -> Run:
        async with session.open_memory(settings, quiet=as_json) as memory:
            with terminal.show_progress("pairs", None, quiet=as_json) as move:

                def add_findings(new: Sequence[Finding]) -> None:
                    findings.extend(new)
                    move(len(new))

                run = await memory.admin.consolidate(scope, dry=dry, limit=limit, on_findings=add_findings)
            if run is not None and not run.from_rev and not (await memory.read_status(scope))["turns"]:
                raise NotFound(f"there is nothing of {scope.owner!r} yet")
            return run or await _raise_busy(settings, memory, scope)

    run = session.run_async(work())
    if as_json:
        screen.print_json(
            consolidation.run_to_json(run)
            | ({"pairs": [consolidation.finding_to_json(finding) for finding in findings]} if dry else {})
        )
    else:
        if dry and findings:
            terminal.print_table(
                ("verdict", "class", "by", "near", "earlier", "later"),
                [consolidation.format_finding_row(finding) for finding in findings],
                text_columns=2,
            )
        consolidation.print_run(run, settings.spend.currency)
    if run.status in ("failed", "over_budget"):
        raise typer.Exit(consolidate_all.MODEL_FAILED_CODE)


async def _raise_busy(settings: Settings, memory: Memory, scope: Scope) -> NoReturn:
    """Raises Busy with the run that the space has, and when it will be over."""
    run = next(iter(await memory.admin.list_runs(scope, 1)), None)
    if run is not None and run.status == "waiting":
        raise Busy(
            f"the consolidation {screen.shorten_id(run.id)} of {scope.owner!r} waits for the model's answers about "
            f"{consolidation.count_pairs(len(run.asked))}: a worker collects them when they are there (muniment work); "
            f"nothing was done. To call it off: muniment consolidate --user {quote(scope.owner)} "
            f"--cancel {screen.shorten_id(run.id)}",
            run=str(run.id),
            since=run.started_at.isoformat(),
        )
    if run is None or run.ended_at is not None:
        raise Busy(f"another consolidation of {scope.owner!r} has only just ended: try again")
    progress = (
        f"with {run.checked:,} of {consolidation.count_pairs(run.seen)} checked" if run.seen else "and looks for pairs"
    )
    raise Busy(
        f"another consolidation of {scope.owner!r}, {screen.shorten_id(run.id)}, has been under way since "
        f"{consolidation.format_time(run.started_at)} UTC, {progress}: try again when it is over "
        f"({consolidation.format_runs_command(scope)}); one whose process has died is given up after "
        f"{settings.consolidation.lease_minutes:g} minutes without a word",
        run=str(run.id),
        since=run.started_at.isoformat(),
    )
