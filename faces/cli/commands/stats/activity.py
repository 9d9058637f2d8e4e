"""`stats`: what the memory of a user did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands.stats.spend import Days
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import screen, terminal
from muniment.memory import codec
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.usage import ExtractionStats, SpaceActivity

_MAX_CHANGES = 10
_MAX_REASONS = 5


def show_activity(context: typer.Context, days: Days = 7, user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """Count what the memory of a user did by day, node and operation, and show what changed and when.

    Operations are searches, skips and failures of the graph's nodes, and every change of a memory. Extraction is what
    was found in the turns, by the rules and by the model, how much of it kept the format at once, and why the rest
    did not.

    For example:

      muniment stats --days 1

      muniment stats spend     # what the models cost
    """
    if context.invoked_subcommand is not None:
        return
    settings = load_settings()
    scope = session.make_scope(settings, user)

    async def work() -> SpaceActivity:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.admin.read_activity(scope, days, _MAX_CHANGES)

    activity = session.run_async(work())
    if as_json:
        screen.print_json({"user": scope.owner, **_activity_to_json(activity)})
    else:
        _print_activity(activity, scope.owner)


def _print_activity(activity: SpaceActivity, owner: str) -> None:
    if not activity.counts:
        screen.print_line(f"Nothing has been done in the memory of {owner!r} since {activity.since}.")
    if activity.counts:
        rows = [[count.day, count.node, count.op, count.status, count.count] for count in activity.counts]
        terminal.print_table(["day (UTC)", "node", "op", "status", "count"], rows)
    if activity.extracted:
        screen.print_line("")
        columns = ["extraction", "turns", "found", "written", "repaired", "refused", "right at once"]
        terminal.print_table(columns, [_format_extraction(extraction) for extraction in activity.extracted])
    if reasons := [row for extraction in activity.extracted for row in _format_reasons(extraction)]:
        screen.print_line("")
        terminal.print_table(["extraction", "why", "times", "reason"], reasons)
    if activity.changes:
        screen.print_line("")
        terminal.print_table(
            ["when (UTC)", "change", "by", "id", "category", "text"],
            [
                (
                    f"{entry.ts:%Y-%m-%d %H:%M}",
                    entry.action,
                    entry.node,
                    screen.shorten_id(entry.memory_id),
                    entry.category,
                    entry.text,
                )
                for entry in activity.changes
            ],
        )


def _format_extraction(extraction: ExtractionStats) -> list[Any]:
    repaired, refused = sum(extraction.repaired.values()), sum(extraction.refused.values())
    share = "" if extraction.first_pass_share is None else f"{extraction.first_pass_share:.1%}"
    return [extraction.source, extraction.looks, extraction.found, extraction.written, repaired, refused, share]


def _format_reasons(extraction: ExtractionStats) -> list[list[Any]]:
    by_kind = (("repaired", extraction.repaired), ("refused", extraction.refused))
    return [
        [extraction.source, what, times, reason]
        for what, reasons in by_kind
        for reason, times in _select_top_reasons(reasons)
    ]


def _select_top_reasons(reasons: Mapping[str, int]) -> Sequence[tuple[str, int]]:
    return sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))[:_MAX_REASONS]


def _activity_to_json(activity: SpaceActivity) -> dict[str, Any]:
    counts = [
        {"day": row.day.isoformat(), "node": row.node, "op": row.op, "status": row.status, "count": row.count}
        for row in activity.counts
    ]
    extracted = {
        row.source: {
            "turns": row.looks,
            "found": row.found,
            "written": row.written,
            "first_pass": row.first_pass_share,
            "repaired": dict(row.repaired),
            "refused": dict(row.refused),
        }
        for row in activity.extracted
    }
    changes = [codec.encode_record(entry) for entry in activity.changes]
    return {"since": activity.since.isoformat(), "operations": counts, "extraction": extracted, "changes": changes}
