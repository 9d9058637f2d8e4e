"""Consolidation runs: what each compared, decided and cost, and how it is taken back."""

from __future__ import annotations

from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from muniment.faces.console.areas import Area
from muniment.faces.console.forms import Form
from muniment.faces.console.visits import Visit, make_action, make_page
from muniment.memory.domain.consolidation import Run
from muniment.memory.errors import BadInput, NotFound

_RUNS = 30  # on a page, at first
_MAX_RUNS = 1_000
_PAIRS = 30  # on a page


async def show_runs(visit: Visit) -> Response:
    """Show the consolidation runs of a user's memory, newest first."""
    visit.caller.check_unlimited()
    limit = _MAX_RUNS if visit.request.query_params.get("all") == "yes" else _RUNS
    runs = await visit.service.memory.admin.list_runs(visit.caller.scope, limit)
    return visit.render_page("nights.html", runs=runs, has_more=len(runs) == limit == _RUNS, currency=_read_unit(visit))


async def show_run(visit: Visit) -> Response:
    """Show a run with its pairs and their verdicts."""
    run = await _find_run(visit)
    after = visit.request.query_params.get("after")
    page = await visit.reads.nights.list_pairs(visit.caller.scope, run.id, after, _PAIRS)
    return visit.render_page("nights_run.html", run=run, page=page, after=after, currency=_read_unit(visit))


async def ask_undo(visit: Visit) -> Response:
    """Show what taking a run back would do."""
    run = await _find_run(visit)
    visit.grant.require_permission("write")
    result = await visit.service.memory.admin.preview_undo(visit.caller.scope, run.id)
    return visit.render_page("nights_undo.html", run=run, result=result)


async def undo_run(visit: Visit, _form: Form) -> Response:
    """Take a run back."""
    run = await _find_run(visit)
    result = await visit.service.memory.admin.undo_consolidation(visit.caller.scope, run.id)
    return visit.redirect_to(f"/nights/{run.id}", "nights.notice.undone", n=result.restored)


async def cancel_run(visit: Visit, _form: Form) -> Response:
    """Call off a run that waits for a batch endpoint."""
    run = await _find_run(visit)
    await visit.service.memory.admin.cancel_consolidation(visit.caller.scope, run.id)
    return visit.redirect_to(f"/nights/{run.id}", "nights.notice.cancelled")


async def _find_run(visit: Visit) -> Run:
    """Return the run that the address names. Raises NotFound, Denied for a token of some agents."""
    visit.caller.check_unlimited()
    try:
        id_ = UUID(visit.request.path_params["run"])
        runs = await visit.service.memory.admin.list_runs(visit.caller.scope, 1, run=id_)
    except (ValueError, BadInput):
        raise NotFound from None
    if not runs:
        raise NotFound
    return runs[0]


def _read_unit(visit: Visit) -> str:
    return visit.service.settings.spend.currency


AREA = Area(name="nights", path="/nights", place=60)
routes: list[Route] = [
    make_page("/nights", show_runs),
    make_page("/nights/{run}", show_run),
    make_page("/nights/{run}/undo", ask_undo),
    make_action("/nights/{run}/undo", undo_run),
    make_action("/nights/{run}/cancel", cancel_run),
]
