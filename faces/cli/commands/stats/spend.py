"""`stats spend`: what models cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER, AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.schema import Spending
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.usage import DailySpending, UsageReport

Days = Annotated[int, typer.Option("--days", metavar="N", min=1, max=3650, help="So many days (UTC), today included.")]
_MICROS_PER_UNIT = 1_000_000


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
            return await memory.admin.read_usage(scope, days), memory.now().date().isoformat()

    usage, today = session.run_async(work())
    report = {"tenant": settings.tenant, **_spend_to_json(usage, settings.spend, today)}
    if as_json:
        screen.print_json(report)
    else:
        _print_spend(usage, settings.spend, report)


def describe_budget(spending: Spending, tokens: int, micros: int) -> dict[str, Any]:
    """The limits of a day and what is left of them, None where there is no limit; `tokens` and `micros` are charged."""
    left = None if spending.daily_tokens is None else max(0, spending.daily_tokens - tokens)
    budget: dict[str, Any] = {"daily_tokens": spending.daily_tokens, "tokens_left": left}
    if spending.daily_money is not None:
        money_left = max(0.0, spending.daily_money - micros / _MICROS_PER_UNIT)
        budget |= {"daily_money": spending.daily_money, "money_left": money_left, "currency": spending.currency}
    return budget


def _print_spend(usage: UsageReport, spending: Spending, report: Mapping[str, Any]) -> None:
    if not usage.days:
        screen.print_line(f"No model has been asked since {usage.since}.")
    else:
        columns = ["day (UTC)", "purpose", "model", "requests", "input", "output", spending.currency]
        terminal.print_table(columns, [_format_spend_row(line) for line in usage.lines])
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


def _spend_to_json(usage: UsageReport, spending: Spending, today: str) -> dict[str, Any]:
    """The usage as JSON, with money in the currency, not in millionths."""
    charged = {day.isoformat(): amounts for day, amounts in usage.days.items()}
    tokens, micros = charged.get(today, (0, 0))
    money = micros / _MICROS_PER_UNIT
    learned = [line for line in usage.lines if line.purpose == "extract"]
    used = sum(line.input_tokens + line.output_tokens for line in usage.lines), sum(line.micros for line in usage.lines)
    total = sum(tokens for tokens, _ in charged.values()), sum(micros for _, micros in charged.values())
    return {
        "since": usage.since.isoformat(),
        "currency": spending.currency,
        "lines": [
            {
                "day": line.day.isoformat(),
                "purpose": line.purpose,
                "model": line.model,
                "requests": line.requests,
                "input_tokens": line.input_tokens,
                "output_tokens": line.output_tokens,
                "money": line.micros / _MICROS_PER_UNIT,
            }
            for line in usage.lines
        ],
        "budget": {"tokens": spending.daily_tokens, "money": spending.daily_money},
        "today": {"tokens": tokens, "money": money},
        "left": {
            "tokens": None if spending.daily_tokens is None else max(0, spending.daily_tokens - tokens),
            "money": None if spending.daily_money is None else max(0.0, spending.daily_money - money),
        },
        "unsettled": {"tokens": total[0] - used[0], "money": (total[1] - used[1]) / _MICROS_PER_UNIT},
        "per_fact": {
            "facts": usage.facts,
            "tokens": _divide_by_facts(sum(line.input_tokens + line.output_tokens for line in learned), usage.facts),
            "money": _divide_by_facts(sum(line.micros for line in learned) / _MICROS_PER_UNIT, usage.facts),
        },
    }


def _divide_by_facts(total: float, facts: int) -> float | None:
    return total / facts if facts else None
