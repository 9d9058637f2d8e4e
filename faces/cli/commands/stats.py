"""`stats`, `stats spend`: what was done, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import screen
from muniment.memory import codec
from muniment.memory.config.schema import Spending
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.usage import DailySpending, ExtractionStats, SpaceActivity, UsageReport

app = typer.Typer()
Days = Annotated[int, typer.Option("--days", metavar="N", min=1, max=3650, help="So many days (UTC), today included.")]

_MAX_CHANGES = 10
_MAX_REASONS = 5
_MICROS_PER_UNIT = 1_000_000


@app.callback(invoke_without_command=True)
def show_activity(context: typer.Context, days: Days = 7, user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """Count what the memory of a user did by day, node and operation, and show what changed and when.

    Operations are searches, skips and failures of the graph's nodes, and every change of a memory. Extraction is what was
    found in the turns, by the rules and by the model, how much of it kept the format at once, and why the rest did not.

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
            return await memory.activity(scope, days, _MAX_CHANGES)

    counted = session.run_async(work())
    if as_json:
        screen.print_json({"user": scope.owner, **_activity_to_json(counted)})
    else:
        _print_activity(counted, scope.owner)


@app.command("spend")
def show_spend(days: Days = 7, as_json: AsJson = False) -> None:
    """Show what models cost, by day, purpose and model, what is left of the budget, and what a remembered fact cost.

    The books are the tenant's: all its users together. The budget is `spend` in the configuration.

    For example:

      muniment stats spend --days 30
    """
    settings = load_settings()
    scope = session.make_scope(settings, DEFAULT_USER)

    async def work() -> tuple[UsageReport, str]:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.usage(scope, days), memory.now().date().isoformat()

    books, today = session.run_async(work())
    report = {"tenant": settings.tenant, **_spend_to_json(books, settings.spend, today)}
    if as_json:
        screen.print_json(report)
    else:
        _print_spend(books, settings.spend, report)


def _print_activity(counted: SpaceActivity, owner: str) -> None:
    if not counted.counts:
        screen.print_line(f"Nothing has been done in the memory of {owner!r} since {counted.since}.")
    if counted.counts:
        rows = [[one.day, one.node, one.op, one.status, one.count] for one in counted.counts]
        screen.print_table(["day (UTC)", "node", "op", "status", "count"], rows)
    if counted.extracted:
        screen.print_line("")
        columns = ["extraction", "turns", "found", "written", "repaired", "refused", "right at once"]
        screen.print_table(columns, [_format_extraction(one) for one in counted.extracted])
    if reasons := [row for one in counted.extracted for row in _format_reasons(one)]:
        screen.print_line("")
        screen.print_table(["extraction", "why", "times", "reason"], reasons)
    if counted.changes:
        screen.print_line("")
        screen.print_table(
            ["when (UTC)", "change", "by", "id", "category", "text"],
            [[f"{one.ts:%Y-%m-%d %H:%M}", one.action, one.node, screen.shorten_id(one.memory_id), one.category, one.text]
             for one in counted.changes],
        )  # fmt: skip


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


def _activity_to_json(counted: SpaceActivity) -> dict[str, Any]:
    counts = [
        {"day": one.day.isoformat(), "node": one.node, "op": one.op, "status": one.status, "count": one.count}
        for one in counted.counts
    ]
    extracted = {
        one.source: {
            "turns": one.looks, "found": one.found, "written": one.written, "first_pass": one.first_pass_share,
            "repaired": dict(one.repaired), "refused": dict(one.refused),
        }
        for one in counted.extracted
    }  # fmt: skip
    changes = [codec.encode_journal_entry(one) for one in counted.changes]
    return {"since": counted.since.isoformat(), "operations": counts, "extraction": extracted, "changes": changes}


def _print_spend(books: UsageReport, spending: Spending, report: Mapping[str, Any]) -> None:
    if not books.days:
        screen.print_line(f"No model has been asked since {books.since}.")
    else:
        columns = ["day (UTC)", "purpose", "model", "requests", "input", "output", spending.currency]
        screen.print_table(columns, [_format_spend_row(one) for one in books.lines])
        screen.print_line("")
    fields = {"budget of a day": _format_amounts(report["budget"], spending, "no limit")}
    fields["charged today"] = _format_amounts(report["today"], spending)
    if spending.daily_tokens is not None or spending.daily_money is not None:
        fields["left today"] = _format_amounts(report["left"], spending)
    if report["unsettled"]["tokens"]:
        fields["not settled"] = (
            f"{_format_amounts(report['unsettled'], spending)} (under way, or of a worker that died)"
        )
    fact = report["per_fact"]
    fields["per remembered fact"] = (
        f"{_format_amounts(fact, spending)} (of {fact['facts']:,})" if fact["facts"] else "the model has written none"
    )
    screen.print_fields(fields)


def _format_spend_row(spent: DailySpending) -> list[Any]:
    counts = [f"{count:,}" for count in (spent.requests, spent.input_tokens, spent.output_tokens)]
    return [spent.day, spent.purpose, spent.model, *counts, f"{spent.micros / _MICROS_PER_UNIT:.4f}"]


def _format_amounts(amounts: Mapping[str, Any], spending: Spending, empty_text: str = "") -> str:
    tokens, money = amounts["tokens"], amounts["money"]
    parts = [f"{tokens:,.0f} tokens"] if tokens is not None else []
    parts += [f"{money:.4f} {spending.currency}"] if money is not None else []
    return ", ".join(parts) or empty_text


def _spend_to_json(books: UsageReport, spending: Spending, today: str) -> dict[str, Any]:
    """The books as JSON: money in the currency, not in millionths."""
    charged = {day.isoformat(): amounts for day, amounts in books.days.items()}
    tokens, micros = charged.get(today, (0, 0))
    learned = [one for one in books.lines if one.purpose == "extract"]
    used = sum(one.input_tokens + one.output_tokens for one in books.lines), sum(one.micros for one in books.lines)
    total = sum(one for one, _ in charged.values()), sum(one for _, one in charged.values())
    return {
        "since": books.since.isoformat(),
        "currency": spending.currency,
        "lines": [
            {"day": one.day.isoformat(), "purpose": one.purpose, "model": one.model, "requests": one.requests,
             "input_tokens": one.input_tokens, "output_tokens": one.output_tokens, "money": one.micros / _MICROS_PER_UNIT}
            for one in books.lines
        ],
        "budget": {"tokens": spending.daily_tokens, "money": spending.daily_money},
        "today": {"tokens": tokens, "money": micros / _MICROS_PER_UNIT},
        "left": {
            "tokens": None if spending.daily_tokens is None else max(0, spending.daily_tokens - tokens),
            "money": None if spending.daily_money is None else max(0.0, spending.daily_money - micros / _MICROS_PER_UNIT),
        },
        "unsettled": {"tokens": total[0] - used[0], "money": (total[1] - used[1]) / _MICROS_PER_UNIT},
        "per_fact": {
            "facts": books.facts,
            "tokens": _divide_by_facts(sum(one.input_tokens + one.output_tokens for one in learned), books.facts),
            "money": _divide_by_facts(sum(one.micros for one in learned) / _MICROS_PER_UNIT, books.facts),
        },
    }  # fmt: skip


def _divide_by_facts(total: float, facts: int) -> float | None:
    return total / facts if facts else None
