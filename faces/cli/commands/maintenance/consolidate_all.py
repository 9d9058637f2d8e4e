"""`consolidate --all` and `--tenant`: one space after another."""

from __future__ import annotations

from collections import Counter

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import check_name
from muniment.faces.cli.output import consolidation, screen, terminal
from muniment.memory.config.settings import Settings
from muniment.memory.domain.consolidation import SpaceResult
from muniment.memory.errors import NotFound

MODEL_FAILED_CODE = 1  # the exit code of a model that failed
_TOTAL_KEYS = (
    "checked", "same", "superseded", "unanswered", "requests", "asked", "unchanged", "waiting", "busy", "over_budget",
    "failed",
)  # fmt: skip
_SKIP_REASONS = {"waiting": "its last run waits for a batch endpoint.", "busy": "another run is at work there."}
_TOTAL_LABELS = {
    "unanswered": "without an answer",
    "unchanged": "unchanged since the last run",
    "waiting": "waiting for a batch endpoint",
    "busy": "under way elsewhere",
    "over_budget": "for which the budget was used up",
    "failed": "for which the model failed",
}


def consolidate_spaces(
    settings: Settings, tenant: str | None, *, dry: bool, limit: int | None, unchanged: bool, as_json: bool
) -> None:
    """Consolidate every space, or every one of a tenant. Each has its line as soon as it is done. Raises BadInput."""
    only = None if tenant is None else check_name(tenant, "--tenant")
    session.run_async(_consolidate_spaces(settings, only, dry=dry, limit=limit, unchanged=unchanged, as_json=as_json))


async def _consolidate_spaces(
    settings: Settings, tenant: str | None, *, dry: bool, limit: int | None, unchanged: bool, as_json: bool
) -> None:
    total = Counter[str]()
    async with session.open_memory(settings, quiet=as_json) as memory:
        spaces = await memory.admin.list_spaces(tenant)
        if tenant is not None and not spaces:
            raise NotFound(
                f"there is nothing of a tenant {tenant!r}; `muniment consolidate --all` is about every tenant"
            )
        has_several_tenants = len({space.tenant for space in spaces}) > 1
        with terminal.show_progress("spaces", len(spaces), quiet=as_json) as move:
            async for result in memory.admin.consolidate_each(spaces, dry=dry, limit=limit, unchanged=unchanged):
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
        raise typer.Exit(MODEL_FAILED_CODE)


def _count_result(result: SpaceResult) -> Counter[str]:
    """What the result of a space adds to the totals."""
    run = result.run
    if run is None:
        return Counter({result.skipped or "busy": 1})
    counts = Counter({key: getattr(run, key) for key in ("checked", "same", "superseded", "unanswered", "requests")})
    if run.status in ("failed", "over_budget", "waiting"):
        counts[run.status] = 1
    counts["asked"] = len(run.asked)
    return counts


def _print_json_line(result: SpaceResult) -> None:
    """Print the result of a space as a line of JSON; nothing for a space that has not changed."""
    if result.run is not None:
        screen.print_json(consolidation.run_to_json(result.run))
    elif result.skipped != "unchanged":
        screen.print_json({"user": result.scope.owner, "tenant": result.scope.tenant, "skipped": result.skipped})


def _print_text_line(result: SpaceResult, *, has_several_tenants: bool) -> None:
    """Print the result of a space as a line of text; nothing for a space without pairs."""
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
    counts = (
        "1 space" if spaces == 1 else f"{spaces:,} spaces",
        f"{consolidation.count_pairs(total['checked'])} checked",
        f"{total['same']:,} merged",
        f"{total['superseded']:,} superseded",
    )
    others = [f"{total[key]:,} {label}" for key, label in _TOTAL_LABELS.items() if total[key]]
    return "; ".join([", ".join(counts), *others]) + "."
