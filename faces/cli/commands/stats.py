"""`stats`, `stats spend`: what was done, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import ME, AsJson, User
from muniment.faces.cli.output import screen
from muniment.memory import codec as wire
from muniment.memory.config.schema import Spending
from muniment.memory.config.settings import load
from muniment.memory.domain.usage import Activity, Books, Spent, Yield

stats = typer.Typer()
Days = Annotated[int, typer.Option("--days", metavar="N", min=1, max=3650, help="So many days (UTC), today included.")]

_CHANGES = 10
_REASONS = 5
_MICROS = 1_000_000


@stats.callback(invoke_without_command=True)
def activity(context: typer.Context, days: Days = 7, user: User = ME, as_json: AsJson = False) -> None:
    """Count what the memory of a user did by day, node and operation, and show what changed and when.

    Operations are searches, skips and failures of the graph's nodes, and every change of a memory. Extraction is what was
    found in the turns, by the rules and by the model, how much of it kept the format at once, and why the rest did not.

    For example:

      muniment stats --days 1

      muniment stats spend     # what the models cost
    """
    if context.invoked_subcommand is not None:
        return
    settings = load()
    scope = session.scope_of(settings, user)

    async def work() -> Activity:
        async with session.opened(settings, quiet=as_json) as memory:
            return await memory.activity(scope, days, _CHANGES)

    found = session.run(work())
    if as_json:
        screen.show_json({"user": scope.owner, **_activity(found)})
    else:
        _show_activity(found, scope.owner)


@stats.command("spend")
def spend(days: Days = 7, as_json: AsJson = False) -> None:
    """Show what models cost, by day, purpose and model, what is left of the budget, and what a remembered fact cost.

    The books are the tenant's: all its users together. The budget is `spend` in the configuration.

    For example:

      muniment stats spend --days 30
    """
    settings = load()
    scope = session.scope_of(settings, ME)

    async def work() -> tuple[Books, str]:
        async with session.opened(settings, quiet=as_json) as memory:
            return await memory.books(scope, days), memory.now().date().isoformat()

    books, today = session.run(work())
    told = {"tenant": settings.tenant, **_books(books, settings.spend, today)}
    if as_json:
        screen.show_json(told)
    else:
        _show_books(books, settings.spend, told)


def _show_activity(found: Activity, owner: str) -> None:
    if not found.counts:
        screen.say(f"Nothing has been done in the memory of {owner!r} since {found.since}.")
    if found.counts:
        rows = [[one.day, one.node, one.op, one.status, one.count] for one in found.counts]
        screen.show_table(["day (UTC)", "node", "op", "status", "count"], rows)
    if found.extracted:
        screen.say("")
        columns = ["extraction", "turns", "found", "written", "repaired", "refused", "right at once"]
        screen.show_table(columns, [_yielded(one) for one in found.extracted])
    if reasons := [row for one in found.extracted for row in _reasons(one)]:
        screen.say("")
        screen.show_table(["extraction", "why", "times", "reason"], reasons)
    if found.changes:
        screen.say("")
        screen.show_table(
            ["when (UTC)", "change", "by", "id", "category", "text"],
            [[f"{one.ts:%Y-%m-%d %H:%M}", one.action, one.node, screen.short(one.memory_id), one.category, one.text]
             for one in found.changes],
        )  # fmt: skip


def _yielded(one: Yield) -> list[Any]:
    repaired, refused = sum(one.repaired.values()), sum(one.refused.values())
    share = "" if one.first_pass is None else f"{one.first_pass:.1%}"
    return [one.source, one.looks, one.found, one.written, repaired, refused, share]


def _reasons(one: Yield) -> list[list[Any]]:
    told = (("repaired", one.repaired), ("refused", one.refused))
    return [[one.source, what, times, reason] for what, reasons in told for reason, times in _top(reasons)]


def _top(reasons: Mapping[str, int]) -> Sequence[tuple[str, int]]:
    return sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))[:_REASONS]


def _activity(found: Activity) -> dict[str, Any]:
    counts = [
        {"day": one.day.isoformat(), "node": one.node, "op": one.op, "status": one.status, "count": one.count}
        for one in found.counts
    ]
    extracted = {
        one.source: {
            "turns": one.looks, "found": one.found, "written": one.written, "first_pass": one.first_pass,
            "repaired": dict(one.repaired), "refused": dict(one.refused),
        }
        for one in found.extracted
    }  # fmt: skip
    changes = [wire.entry(one) for one in found.changes]
    return {"since": found.since.isoformat(), "operations": counts, "extraction": extracted, "changes": changes}


def _show_books(books: Books, spending: Spending, told: Mapping[str, Any]) -> None:
    if not books.days:
        screen.say(f"No model has been asked since {books.since}.")
    else:
        columns = ["day (UTC)", "purpose", "model", "requests", "input", "output", spending.currency]
        screen.show_table(columns, [_line(one) for one in books.lines])
        screen.say("")
    fields = {"budget of a day": _amounts(told["budget"], spending, "no limit")}
    fields["charged today"] = _amounts(told["today"], spending)
    if spending.daily_tokens is not None or spending.daily_money is not None:
        fields["left today"] = _amounts(told["left"], spending)
    if told["unsettled"]["tokens"]:
        fields["not settled"] = f"{_amounts(told['unsettled'], spending)} (under way, or of a worker that died)"
    fact = told["per_fact"]
    fields["per remembered fact"] = (
        f"{_amounts(fact, spending)} (of {fact['facts']:,})" if fact["facts"] else "the model has written none"
    )
    screen.show_fields(fields)


def _line(one: Spent) -> list[Any]:
    counts = [f"{count:,}" for count in (one.requests, one.input_tokens, one.output_tokens)]
    return [one.day, one.purpose, one.model, *counts, f"{one.micros / _MICROS:.4f}"]


def _amounts(told: Mapping[str, Any], spending: Spending, none: str = "") -> str:
    tokens, money = told["tokens"], told["money"]
    parts = [f"{tokens:,.0f} tokens"] if tokens is not None else []
    parts += [f"{money:.4f} {spending.currency}"] if money is not None else []
    return ", ".join(parts) or none


def _books(books: Books, spending: Spending, today: str) -> dict[str, Any]:
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
             "input_tokens": one.input_tokens, "output_tokens": one.output_tokens, "money": one.micros / _MICROS}
            for one in books.lines
        ],
        "budget": {"tokens": spending.daily_tokens, "money": spending.daily_money},
        "today": {"tokens": tokens, "money": micros / _MICROS},
        "left": {
            "tokens": None if spending.daily_tokens is None else max(0, spending.daily_tokens - tokens),
            "money": None if spending.daily_money is None else max(0.0, spending.daily_money - micros / _MICROS),
        },
        "unsettled": {"tokens": total[0] - used[0], "money": (total[1] - used[1]) / _MICROS},
        "per_fact": {
            "facts": books.facts,
            "tokens": _each(sum(one.input_tokens + one.output_tokens for one in learned), books.facts),
            "money": _each(sum(one.micros for one in learned) / _MICROS, books.facts),
        },
    }  # fmt: skip


def _each(total: float, facts: int) -> float | None:
    return total / facts if facts else None
