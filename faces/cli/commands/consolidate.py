"""`consolidate`: of memories that say the same, or are no longer so, one stays; and the way back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING, Annotated, NoReturn
from uuid import UUID

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import ME, AsJson, name
from muniment.faces.cli.output import consolidation as telling, screen
from muniment.memory.config.settings import Settings, load
from muniment.memory.domain.consolidation import Finding, Run, Undone, Visit
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, Busy, NotFound

if TYPE_CHECKING:
    from muniment.memory.client import Memory

_RUNS = 20
_KNOWN = 1_000  # runs among which one is looked for by the beginning of its id
_FAILED = 1  # the exit code of a model that failed
_SUMS = (
    "checked", "same", "superseded", "unanswered", "requests", "asked", "unchanged", "waiting", "busy", "over_budget", "failed",
)  # fmt: skip
_SKIPPED = {"waiting": "its last run waits for a batch endpoint.", "busy": "another run is at work there."}
_BESIDES = {
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


def consolidate(
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
    settings = load()
    many = everybody or tenant is not None
    _agree(
        whose=sum((user is not None, tenant is not None, everybody)),
        what=sum((undo is not None, cancel is not None, runs, dry_run or limit is not None)),
        past=undo is not None or cancel is not None or runs,
        many=many,
        unchanged=unchanged,
    )
    scope = session.scope_of(settings, user or ME)
    if undo is not None:
        _undo(settings, scope, undo, as_json=as_json)
    elif cancel is not None:
        _cancel(settings, scope, cancel, as_json=as_json)
    elif runs:
        _runs(settings, scope, as_json=as_json)
    elif many:
        only = None if tenant is None else name(tenant, "--tenant")
        session.run(_everybody(settings, only, dry=dry_run, limit=limit, unchanged=unchanged, as_json=as_json))
    else:
        _one(settings, scope, dry=dry_run, limit=limit, as_json=as_json)


def _agree(*, whose: int, what: int, past: bool, many: bool, unchanged: bool) -> None:
    """Refuse options that contradict each other. Raises BadInput."""
    if whose > 1:
        raise BadInput("--user, --tenant and --all: give one of them")
    if what > 1:
        raise BadInput("--undo, --cancel and --runs stand alone")
    if many and past:
        raise BadInput("--undo, --cancel and --runs are about one user: give --user")
    if unchanged and not many:
        raise BadInput("--unchanged goes with --all or --tenant: one user's memory is looked at in any case")


def _one(settings: Settings, scope: Scope, *, dry: bool, limit: int | None, as_json: bool) -> None:
    found: list[Finding] = []

    async def work() -> Run:
        async with session.opened(settings, quiet=as_json) as memory:
            with screen.progress("pairs", None, quiet=as_json) as move:

                def tell(some: Sequence[Finding]) -> None:
                    found.extend(some)
                    move(len(some))

                run = await memory.consolidate(scope, dry=dry, limit=limit, tell=tell)
            if run is not None and not run.from_rev and not (await memory.status(scope))["turns"]:
                raise NotFound(f"there is nothing of {scope.owner!r} yet")
            return run or await _another(settings, memory, scope)

    run = session.run(work())
    if as_json:
        screen.show_json(telling.row(run) | ({"pairs": [telling.pair(one) for one in found]} if dry else {}))
    else:
        if dry and found:
            screen.show_table(
                ("verdict", "by", "near", "earlier", "later"), [telling.shown(one) for one in found], texts=2
            )
        telling.say(run, settings.spend.currency)
    if run.status in ("failed", "over_budget"):
        raise typer.Exit(_FAILED)


async def _another(settings: Settings, memory: Memory, scope: Scope) -> NoReturn:
    """Say which run the space has instead. Raises Busy."""
    run = next(iter(await memory.consolidations(scope, 1)), None)
    if run is not None and run.status == "waiting":
        raise Busy(
            f"the consolidation {screen.short(run.id)} of {scope.owner!r} waits for the model's answers about "
            f"{telling.pairs(len(run.asked))}: a worker collects them when they are there (muniment work); nothing was done. "
            f"To call it off: muniment consolidate --user {quote(scope.owner)} --cancel {screen.short(run.id)}",
            run=str(run.id),
            since=run.started_at.isoformat(),
        )
    if run is None or run.ended_at is not None:
        raise Busy(f"another consolidation of {scope.owner!r} has only just ended: try again")
    far = f"with {run.checked:,} of {telling.pairs(run.seen)} checked" if run.seen else "and looks for pairs"
    raise Busy(
        f"another consolidation of {scope.owner!r}, {screen.short(run.id)}, has been under way since "
        f"{telling.moment(run.started_at)} UTC, {far}: try again when it is over ({telling.shows(scope)}); one whose process has died is given up after "
        f"{settings.consolidation.lease_minutes:g} minutes without a word",
        run=str(run.id),
        since=run.started_at.isoformat(),
    )


async def _everybody(
    settings: Settings, tenant: str | None, *, dry: bool, limit: int | None, unchanged: bool, as_json: bool
) -> None:
    """Space by space: each has its line as soon as it is done, so that an interruption loses no word of what was."""
    total = Counter[str]()
    async with session.opened(settings, quiet=as_json) as memory:
        spaces = await memory.spaces(tenant)
        if tenant is not None and not spaces:
            raise NotFound(
                f"there is nothing of a tenant {tenant!r}; `muniment consolidate --all` is about every tenant"
            )
        several = len({one.tenant for one in spaces}) > 1
        with screen.progress("spaces", len(spaces), quiet=as_json) as move:
            async for visit in memory.consolidate_each(spaces, dry=dry, limit=limit, unchanged=unchanged):
                move(1)
                total += _counted(visit)
                if as_json:
                    _emit(visit)
                else:
                    _mention(visit, several=several)
    sums = {key: total[key] for key in _SUMS}
    if as_json:
        screen.show_json({"spaces": len(spaces), "dry_run": dry, **sums})
    else:
        screen.say(_sum(len(spaces), total) + (" Nothing was changed (--dry-run)." if dry else ""))
    if total["failed"] or total["over_budget"]:
        raise typer.Exit(_FAILED)


def _counted(visit: Visit) -> Counter[str]:
    """What a visit adds to the totals."""
    run = visit.run
    if run is None:
        return Counter({visit.skipped or "busy": 1})
    counts = Counter({key: getattr(run, key) for key in ("checked", "same", "superseded", "unanswered", "requests")})
    if run.status in ("failed", "over_budget", "waiting"):
        counts[run.status] = 1
    counts["asked"] = len(run.asked)
    return counts


def _emit(visit: Visit) -> None:
    """A visit as a line of JSON; of what has not changed there is nothing to say."""
    if visit.run is not None:
        screen.show_json(telling.row(visit.run))
    elif visit.skipped != "unchanged":
        screen.show_json({"user": visit.scope.owner, "tenant": visit.scope.tenant, "skipped": visit.skipped})


def _mention(visit: Visit, *, several: bool) -> None:
    """A visit that came to something as a line of text."""
    who = f"{visit.scope.tenant}/{visit.scope.owner}" if several else visit.scope.owner
    run = visit.run
    if run is None:
        if visit.skipped in _SKIPPED:
            screen.say(f"{who}: {_SKIPPED[visit.skipped]}")
    elif run.seen:
        screen.say(f"{who}: {telling.counts(run)}" + (f" {telling.waits(run)}." if run.status == "waiting" else ""))


def _sum(spaces: int, total: Counter[str]) -> str:
    said = "1 space" if spaces == 1 else f"{spaces:,} spaces"
    checked = f"{said}, {telling.pairs(total['checked'])} checked, {total['same']:,} merged, {total['superseded']:,} superseded"
    besides = [f"{total[key]:,} {words}" for key, words in _BESIDES.items() if total[key]]
    return "; ".join([checked, *besides]) + "."


def _undo(settings: Settings, scope: Scope, typed: str, *, as_json: bool) -> None:
    async def work() -> Undone:
        async with session.opened(settings, quiet=as_json) as memory:
            return await memory.undo_consolidation(scope, await _find(memory, scope, typed, "--undo"))

    undone = session.run(work())
    if as_json:
        told = {"user": scope.owner, "run": str(undone.run.id)}
        screen.show_json(told | {"restored": undone.restored, "left": undone.left})
        return
    left = f"; {undone.left:,} changed since and left as found" if undone.left else ""
    done = "1 memory is what it was" if undone.restored == 1 else f"{undone.restored:,} memories are what they were"
    screen.say(f"{done} before the run{left}.")


def _cancel(settings: Settings, scope: Scope, typed: str, *, as_json: bool) -> None:
    async def work() -> Run:
        async with session.opened(settings, quiet=as_json) as memory:
            return await memory.cancel_consolidation(scope, await _find(memory, scope, typed, "--cancel"))

    run = session.run(work())
    if as_json:
        screen.show_json(telling.row(run))
        return
    later = "" if run.batch is None else " The endpoint is not done with it yet: `muniment work` sees to it."
    screen.say(f"The run is called off; its pairs are looked at another night.{later}")


def _runs(settings: Settings, scope: Scope, *, as_json: bool) -> None:
    async def work() -> Sequence[Run]:
        async with session.opened(settings, quiet=as_json) as memory:
            return await memory.consolidations(scope, _RUNS)

    found = session.run(work())
    if as_json:
        screen.show_json({"user": scope.owner, "runs": [telling.row(one) for one in found]})
        return
    if not found:
        screen.say(f"The memory of {scope.owner!r} was never consolidated.")
        return
    rows = [telling.line(one, settings) for one in found]
    screen.show_table(("run", "started (UTC)", "status", "what it came to"), rows)


async def _find(memory: Memory, scope: Scope, typed: str, option: str) -> UUID:
    """The run whose id begins so. Raises BadInput, NotFound."""
    wanted = typed.strip().lower()
    if len(wanted) < session.SHORTEST_ID or set(wanted) - set("0123456789abcdef-"):
        raise BadInput(f"{option}: {screen.one_line(typed)!r} is no run: `{telling.shows(scope)}` shows their ids")
    found = [one.id for one in await memory.consolidations(scope, _KNOWN) if str(one.id).startswith(wanted)]
    if not found:
        raise NotFound(
            f"no run of {scope.owner!r} has an id that begins with {wanted}; `{telling.shows(scope)}` shows the runs"
        )
    if len(found) > 1:
        raise BadInput(f"{option}: {wanted} is ambiguous: {', '.join(map(str, found))}")
    return found[0]
