"""Jobs and workers, the embedder, what models cost, and what the plugin of hosts did."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, timedelta
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from muniment.faces.console.areas import Area
from muniment.faces.console.forms import Form
from muniment.faces.console.spending import make_books_scope, read_budget
from muniment.faces.console.visits import Visit, make_action, make_page
from muniment.memory.bootstrap.plugin_accounts import make_plugin_accounts
from muniment.memory.domain.embedding import SwitchRange
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import DailySpending
from muniment.memory.errors import BadInput
from muniment.plugin.book.engine_book import EngineBook
from muniment.plugin.book.stats_view import list_latency_rows, list_policy_rows, list_refusal_rows

_JOBS = 100  # that are listed one by one
_USAGE_DAYS = 30
_PLUGIN_DAYS = 30
_MAX_ID = 2**63


async def show_machines(visit: Visit) -> Response:
    """Show the jobs of a user, or to an operator those of the tenant with its workers, embedder and spending."""
    of = _choose_range(visit)
    machines = visit.reads.machines
    shown: dict[str, Any] = {
        "of_tenant": isinstance(of, str),
        "counts": await machines.count_jobs(of),
        "jobs": await machines.list_jobs(of, _JOBS),
        "embedder": await visit.service.memory.admin.read_switch_progress(_choose_switch_range(of)),
        "workers": None,
        "stalled_seconds": visit.service.settings.jobs.stalled_seconds,
        "usage": None,
        "has_plugin_page": visit.operates_installation,
    }
    if isinstance(of, str):
        shown["workers"] = await machines.list_workers()
        shown["usage"] = await _read_usage(visit)
    return visit.render_page("machines.html", **shown)


async def retry_job(visit: Visit, form: Form) -> Response:
    """Let a worker take a waiting job at once."""
    of, text = _choose_range(visit), form.require_text("id")
    if not text.isascii() or not text.isdigit() or int(text[:20]) >= _MAX_ID:
        raise BadInput("id: is no number of a job")
    scope = of if isinstance(of, Scope) else None
    await visit.service.memory.jobs.hasten_job(int(text), tenant=visit.grant.tenant, scope=scope)
    return visit.redirect_to("/machines#jobs", "machines.notice.due")


async def show_plugin(visit: Visit) -> Response:
    """Show what the plugin of hosts did in a month, of all users of the tenant."""
    visit.require_operator()
    tenant, accounts = visit.service.settings.tenant, make_plugin_accounts(visit.service.memory)
    since = visit.service.memory.now() - timedelta(days=_PLUGIN_DAYS)
    stats = await EngineBook(accounts).read_stats(tenant, None, since)
    return visit.render_page(
        "machines_plugin.html",
        tenant=tenant,
        days=_PLUGIN_DAYS,
        policies=list_policy_rows(stats) if stats.turns else [],
        refusals=list_refusal_rows(stats.refusals),
        latencies=list_latency_rows(stats),
    )


def _choose_range(visit: Visit) -> Scope | str:
    """Return what a visitor sees the jobs of: an operator their tenant, by its name, and everybody else one user.
    Raises Denied for a token of some agents, NoUser."""
    if visit.is_operator:
        return visit.grant.tenant
    visit.caller.check_unlimited()
    return visit.caller.scope


def _choose_switch_range(of: Scope | str) -> SwitchRange:
    return SwitchRange.of_space(of) if isinstance(of, Scope) else SwitchRange(tenant=of)


async def _read_usage(visit: Visit) -> dict[str, Any]:
    """Return what models cost the tenant by model, by day and by purpose, and the budget of the day."""
    today = visit.service.memory.now().astimezone(UTC).date()
    report = await visit.service.memory.admin.read_usage(make_books_scope(visit), _USAGE_DAYS)
    return {
        "days": _USAGE_DAYS,
        "models": _sum_by_model(report.lines),
        "lines": report.lines,
        "budget": await read_budget(visit, today),
        "total": sum(each.micros for each in report.lines),
        "by_day": _sum_by_day(report.lines),
    }


def _sum_by_model(lines: Sequence[DailySpending]) -> list[tuple[str, int, int, int]]:
    """Return the requests, tokens and micros of each model, those of most tokens first."""
    found = [
        (
            model,
            sum(each.requests for each in lines if each.model == model),
            sum(each.input_tokens + each.output_tokens for each in lines if each.model == model),
            sum(each.micros for each in lines if each.model == model),
        )
        for model in dict.fromkeys(each.model for each in lines)
    ]
    return sorted(found, key=lambda row: (-row[2], row[0]))


def _sum_by_day(lines: Sequence[DailySpending]) -> list[tuple[date, int]]:
    """Return the tokens of each day that has any, newest first."""
    sums: dict[date, int] = {}
    for each in lines:
        sums[each.day] = sums.get(each.day, 0) + each.input_tokens + each.output_tokens
    return sorted(sums.items(), reverse=True)


AREA = Area(name="machines", path="/machines", place=70)
routes: list[Route] = [
    make_page("/machines", show_machines, needs_user=False),
    make_action("/machines/retry", retry_job, needs_user=False),
    make_page("/machines/plugin", show_plugin, permission="admin", needs_user=False),
]
