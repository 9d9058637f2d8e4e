"""The first page: what a memory holds and how that came about, what goes on, and what it costs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from itertools import accumulate
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from muniment.faces.console.areas import Area
from muniment.faces.console.plots import Bar, Line, draw_line, draw_stacks
from muniment.faces.console.spending import read_budget
from muniment.faces.console.visits import Visit, make_page
from muniment.faces.dossier.files import DossierForm, can_write_pdf
from muniment.faces.http.routes.transfer import send_dossier
from muniment.memory.domain.console.overview import CountChange, DayActivity
from muniment.memory.domain.memory import STATES
from muniment.memory.errors import BadInput

_DAYS = 90  # of the plots of memories
_ACTIVE_DAYS = 30  # of the plots of turns and searches
_WEEK = 7
_MAX_TRENDS = 8
_OTHERS = ""  # the name of the categories that have no plot of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """A number over the days of a plot."""

    name: str
    values: Sequence[int]
    line: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Stacks:
    """Numbers of each day, one above the other."""

    bars: Sequence[Bar]
    days: Sequence[date]
    rows: Sequence[tuple[int, ...]]
    sums: tuple[int, ...]


async def show_overview(visit: Visit) -> Response:
    """Show what a user's memory holds by category and state, over time, and what goes on around it."""
    today = visit.service.memory.now().astimezone(UTC).date()
    first = today - timedelta(days=_DAYS - 1)
    changes = await visit.reads.overview.list_count_changes(visit.reader, first)
    by_category = sum_changes(changes)
    states = [state for state in STATES if any(state in counts for counts in by_category.values())]
    totals = {state: sum(counts.get(state, 0) for counts in by_category.values()) for state in states}
    shown: dict[str, Any] = {"states": states, "by_category": by_category, "totals": totals}
    shown |= _make_history(changes, first, states)
    shown["dossier_forms"] = [str(form) for form in DossierForm if form is not DossierForm.pdf or can_write_pdf()]
    shown |= {"activity": None, "figures": None, "run": None, "budget": None, "database_bytes": None}
    if not visit.grant.agents:  # what is not told apart by categories is for those who may read them all
        shown |= await _read_activity(visit, today)
    if visit.is_operator:
        shown["budget"] = await read_budget(visit, today)
    if visit.operates_installation:
        shown["database_bytes"] = await visit.reads.overview.read_database_size()
    return visit.render_page("overview.html", **shown)


async def download_dossier(visit: Visit) -> Response:
    """Send everything known of the user as a file, in the language of the page. Raises Denied for a token of some
    agents."""
    form = visit.request.query_params.get("form", DossierForm.html)
    if form not in list(DossierForm):
        raise BadInput("form: html, pdf or json wanted")
    return await send_dossier(visit.caller, DossierForm(form), visit.texts.language)


def sum_changes(changes: Sequence[CountChange]) -> dict[str, dict[str, int]]:
    """Return how many memories there are by category and state; a state that none is in is left out."""
    sums = defaultdict[str, Counter[str]](Counter)
    for each in changes:
        sums[each.category][each.state] += each.gained - each.lost
    kept = {category: {state: count for state, count in sums[category].items() if count} for category in sorted(sums)}
    return {category: counts for category, counts in kept.items() if counts}


def _make_history(changes: Sequence[CountChange], first: date, states: Sequence[str]) -> dict[str, Any]:
    """Return the plots of memories by category and by state, and what came and went in a week."""
    today = first + timedelta(days=_DAYS - 1)
    active = [each for each in changes if each.state == "active"]
    weekly = [each for each in active if each.day > today - timedelta(days=_WEEK)]
    by_category = make_levels({each.category for each in active}, active, first, lambda each: each.category)
    by_state = make_levels(states, changes, first, lambda each: each.state)
    weeks = list(range(_DAYS - 1, -1, -_WEEK))[::-1]
    return {
        "days": (first, today),
        "category_trends": _make_trends(_join_small(by_category)),
        "state_trends": _make_trends(by_state),
        "came": sum(each.gained for each in weekly),
        "went": sum(each.lost for each in weekly),
        "weeks": [(n, first + timedelta(days=n)) for n in weeks],
    }


async def _read_activity(visit: Visit, today: date) -> dict[str, Any]:
    """Return the plots of turns and searches, the jobs and the size of the space, and its last consolidation."""
    scope, memory = visit.caller.scope, visit.service.memory
    await memory.conversation.flush(scope)
    since = today - timedelta(days=_ACTIVE_DAYS - 1)
    told = {each.day: each for each in await visit.reads.overview.list_days(scope, since)}
    days = [since + timedelta(days=n) for n in range(_ACTIVE_DAYS)]
    each_day = [told.get(day, DayActivity(day=day)) for day in days]
    turns = [(each.remembered, each.turns - each.remembered) for each in each_day]
    searches = [(each.answered, each.unanswered, each.failed) for each in each_day]
    return {
        "activity": {"turns": _make_stacks(days, turns), "searches": _make_stacks(days, searches)},
        "figures": await visit.reads.overview.read_figures(scope),
        "run": next(iter(await memory.admin.list_runs(scope, 1)), None),
    }


def make_levels(
    names: Sequence[str] | set[str], changes: Sequence[CountChange], first: date, name_of: Any
) -> dict[str, list[int]]:
    """Return for each name how many memories there were at the end of each day of the plot."""
    steps = {name: [0] * _DAYS for name in sorted(names)}
    for each in changes:
        place = min(max(0, (each.day - first).days), _DAYS - 1)  # a clock may have been ahead
        steps.setdefault(name_of(each), [0] * _DAYS)[place] += each.gained - each.lost
    return {name: list(accumulate(values)) for name, values in steps.items()}


def _join_small(levels: Mapping[str, list[int]]) -> dict[str, list[int]]:
    """Return the levels with the most memories first, and the smallest together where there are many."""
    ordered = sorted(levels.items(), key=lambda pair: (-pair[1][-1], pair[0]))
    if len(ordered) <= _MAX_TRENDS:
        return dict(ordered)
    rest = [sum(values) for values in zip(*(values for _, values in ordered[_MAX_TRENDS - 1 :]), strict=True)]
    return {**dict(ordered[: _MAX_TRENDS - 1]), _OTHERS: rest}


def _make_trends(levels: Mapping[str, list[int]]) -> list[Trend]:
    return [Trend(name=name, values=values, line=draw_line(values)) for name, values in levels.items() if any(values)]


def _make_stacks(days: Sequence[date], rows: Sequence[tuple[int, ...]]) -> Stacks:
    return Stacks(bars=draw_stacks(rows), days=days, rows=rows, sums=tuple(map(sum, zip(*rows, strict=True))))


AREA = Area(name="overview", path="/", place=10)
routes: list[Route] = [make_page("/", show_overview), make_page("/dossier", download_dossier)]
