"""`consolidate`: of memories that say the same, or are no longer so, one stays; and the way back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING, Annotated, NoReturn
from uuid import UUID

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER, AsJson, check_name
from muniment.faces.cli.output import consolidation, screen
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.consolidation import Finding, Run, SpaceResult, UndoResult
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, Busy, NotFound

if TYPE_CHECKING:
    from muniment.memory.client import Memory

_MAX_RUNS = 20
_MAX_SEARCHED_RUNS = 1_000  # runs among which one is looked for by the beginning of its id
_MODEL_FAILED_CODE = 1  # the exit code of a model that failed
_TOTAL_KEYS = (
    "checked", "same", "superseded", "unanswered", "requests", "asked", "unchanged", "waiting", "busy", "over_budget", "failed",
)  # fmt: skip
_SKIP_REASONS = {"waiting": "its last run waits for a batch endpoint.", "busy": "another run is at work there."}
_TOTAL_LABELS = {
    "unanswered": "without an answer", "unchanged": "unchanged since the last run", "waiting": "waiting for a batch endpoint",
    "busy": "under way elsewhere", "over_budget": "for which the budget was used up", "failed": "for which the model failed",
}  # fmt: skip

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

    The one that stays keeps its words and gets what supports the other one, which is no longer in any answer; nothing is
    lost, and a run can be undone. Pairs are looked at closest first, by the rules where they are sure and else by the
    model, if one is configured (MUNIMENT_MODEL). Words of two people, two numbers, a thing and its denial are
    never made one. A pair that was looked at is left alone for consolidation.fingerprint_days.

    --all and --tenant T look at one user after another, and pass over those in whose memory nothing has changed since it was
    compared, and those where another run is at work. With --json each is a line, and the last line has the sums. With
    consolidation.batch a run waits for the model's answers, and `muniment work` collects them.

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
        _undo_run(settings, scope, undo, as_json=as_json)
    elif cancel is not None:
        _cancel_run(settings, scope, cancel, as_json=as_json)
    elif runs:
        _list_runs(settings, scope, as_json=as_json)
    elif many:
        only = None if tenant is None else check_name(tenant, "--tenant")
        session.run_async(
            _consolidate_all(settings, only, dry=dry_run, limit=limit, unchanged=unchanged, as_json=as_json)
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
            with screen.show_progress("pairs", None, quiet=as_json) as move:

                def tell(some: Sequence[Finding]) -> None:
                    findings.extend(some)
                    move(len(some))

                run = await memory.consolidate(scope, dry=dry, limit=limit, on_findings=tell)
            if run is not None and not run.from_rev and not (await memory.status(scope))["turns"]:
                raise NotFound(f"there is nothing of {scope.owner!r} yet")
            return run or await _raise_busy(settings, memory, scope)

    run = session.run_async(work())
    if as_json:
        screen.print_json(
            consolidation.run_to_json(run)
            | ({"pairs": [consolidation.finding_to_json(one) for one in findings]} if dry else {})
        )
    else:
        if dry and findings:
            screen.print_table(
                ("verdict", "by", "near", "earlier", "later"),
                [consolidation.format_finding_row(one) for one in findings],
                text_columns=2,
            )
        consolidation.print_run(run, settings.spend.currency)
    if run.status in ("failed", "over_budget"):
        raise typer.Exit(_MODEL_FAILED_CODE)


async def _raise_busy(settings: Settings, memory: Memory, scope: Scope) -> NoReturn:
    """Say which run the space has instead. Raises Busy."""
    run = next(iter(await memory.consolidations(scope, 1)), None)
    if run is not None and run.status == "waiting":
        raise Busy(
            f"the consolidation {screen.shorten_id(run.id)} of {scope.owner!r} waits for the model's answers about "
            f"{consolidation.count_pairs(len(run.asked))}: a worker collects them when they are there (muniment work); nothing was done. "
            f"To call it off: muniment consolidate --user {quote(scope.owner)} --cancel {screen.shorten_id(run.id)}",
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
        f"{consolidation.format_time(run.started_at)} UTC, {progress}: try again when it is over ({consolidation.format_runs_command(scope)}); one whose process has died is given up after "
        f"{settings.consolidation.lease_minutes:g} minutes without a word",
        run=str(run.id),
        since=run.started_at.isoformat(),
    )


async def _consolidate_all(
    settings: Settings, tenant: str | None, *, dry: bool, limit: int | None, unchanged: bool, as_json: bool
) -> None:
    """Space by space: each has its line as soon as it is done, so that an interruption loses no word of what was."""
    total = Counter[str]()
    async with session.open_memory(settings, quiet=as_json) as memory:
        spaces = await memory.spaces(tenant)
        if tenant is not None and not spaces:
            raise NotFound(
                f"there is nothing of a tenant {tenant!r}; `muniment consolidate --all` is about every tenant"
            )
        has_several_tenants = len({one.tenant for one in spaces}) > 1
        with screen.show_progress("spaces", len(spaces), quiet=as_json) as move:
            async for result in memory.consolidate_each(spaces, dry=dry, limit=limit, unchanged=unchanged):
                move(1)
                total += _count_result(result)
                if as_json:
                    _print_json_line(result)
                else:
                    _print_text_line(result, has_several_tenants=has_several_tenants)
    sums = {key: total[key] for key in _TOTAL_KEYS}
    if as_json:
        screen.print_json({"spaces": len(spaces), "dry_run": dry, **sums})
    else:
        screen.print_line(_format_totals(len(spaces), total) + (" Nothing was changed (--dry-run)." if dry else ""))
    if total["failed"] or total["over_budget"]:
        raise typer.Exit(_MODEL_FAILED_CODE)


def _count_result(result: SpaceResult) -> Counter[str]:
    """What a visit adds to the totals."""
    run = result.run
    if run is None:
        return Counter({result.skipped or "busy": 1})
    counts = Counter({key: getattr(run, key) for key in ("checked", "same", "superseded", "unanswered", "requests")})
    if run.status in ("failed", "over_budget", "waiting"):
        counts[run.status] = 1
    counts["asked"] = len(run.asked)
    return counts


def _print_json_line(result: SpaceResult) -> None:
    """A visit as a line of JSON; of what has not changed there is nothing to say."""
    if result.run is not None:
        screen.print_json(consolidation.run_to_json(result.run))
    elif result.skipped != "unchanged":
        screen.print_json({"user": result.scope.owner, "tenant": result.scope.tenant, "skipped": result.skipped})


def _print_text_line(result: SpaceResult, *, has_several_tenants: bool) -> None:
    """A visit that came to something as a line of text."""
    owner = f"{result.scope.tenant}/{result.scope.owner}" if has_several_tenants else result.scope.owner
    run = result.run
    if run is None:
        if result.skipped in _SKIP_REASONS:
            screen.print_line(f"{owner}: {_SKIP_REASONS[result.skipped]}")
    elif run.seen:
        screen.print_line(
            f"{owner}: {consolidation.format_counts(run)}"
            + (f" {consolidation.format_waiting(run)}." if run.status == "waiting" else "")
        )


def _format_totals(spaces: int, total: Counter[str]) -> str:
    said = "1 space" if spaces == 1 else f"{spaces:,} spaces"
    checked = f"{said}, {consolidation.count_pairs(total['checked'])} checked, {total['same']:,} merged, {total['superseded']:,} superseded"
    besides = [f"{total[key]:,} {words}" for key, words in _TOTAL_LABELS.items() if total[key]]
    return "; ".join([checked, *besides]) + "."


def _undo_run(settings: Settings, scope: Scope, prefix: str, *, as_json: bool) -> None:
    async def work() -> UndoResult:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.undo_consolidation(scope, await _find_run(memory, scope, prefix, "--undo"))

    result = session.run_async(work())
    if as_json:
        told = {"user": scope.owner, "run": str(result.run.id)}
        screen.print_json(told | {"restored": result.restored, "left": result.left})
        return
    left = f"; {result.left:,} changed since and left as found" if result.left else ""
    done = "1 memory is what it was" if result.restored == 1 else f"{result.restored:,} memories are what they were"
    screen.print_line(f"{done} before the run{left}.")


def _cancel_run(settings: Settings, scope: Scope, prefix: str, *, as_json: bool) -> None:
    async def work() -> Run:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.cancel_consolidation(scope, await _find_run(memory, scope, prefix, "--cancel"))

    run = session.run_async(work())
    if as_json:
        screen.print_json(consolidation.run_to_json(run))
        return
    later = "" if run.batch is None else " The endpoint is not done with it yet: `muniment work` sees to it."
    screen.print_line(f"The run is called off; its pairs are looked at another night.{later}")


def _list_runs(settings: Settings, scope: Scope, *, as_json: bool) -> None:
    async def work() -> Sequence[Run]:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.consolidations(scope, _MAX_RUNS)

    found = session.run_async(work())
    if as_json:
        screen.print_json({"user": scope.owner, "runs": [consolidation.run_to_json(one) for one in found]})
        return
    if not found:
        screen.print_line(f"The memory of {scope.owner!r} was never consolidated.")
        return
    rows = [consolidation.format_run_row(one, settings) for one in found]
    screen.print_table(("run", "started (UTC)", "status", "what it came to"), rows)


async def _find_run(memory: Memory, scope: Scope, prefix: str, option: str) -> UUID:
    """The run whose id begins so. Raises BadInput, NotFound."""
    normalized = prefix.strip().lower()
    if len(normalized) < session.MIN_ID_CHARS or set(normalized) - set("0123456789abcdef-"):
        raise BadInput(
            f"{option}: {screen.join_lines(prefix)!r} is no run: `{consolidation.format_runs_command(scope)}` shows their ids"
        )
    ids = [
        one.id for one in await memory.consolidations(scope, _MAX_SEARCHED_RUNS) if str(one.id).startswith(normalized)
    ]
    if not ids:
        raise NotFound(
            f"no run of {scope.owner!r} has an id that begins with {normalized}; `{consolidation.format_runs_command(scope)}` shows the runs"
        )
    if len(ids) > 1:
        raise BadInput(f"{option}: {normalized} is ambiguous: {', '.join(map(str, ids))}")
    return ids[0]
