"""The first page: what a memory holds, by category and state."""

from __future__ import annotations

from collections import defaultdict

from starlette.responses import Response
from starlette.routing import Route

from muniment.faces.console.areas import Area
from muniment.faces.console.visits import Visit, make_page
from muniment.memory.domain.memory import STATES


async def show_overview(visit: Visit) -> Response:
    """Show how many memories a user has, by category and state."""
    counts = await visit.reads.overview.count_memories(visit.reader)
    states = [state for state in STATES if any(each.state == state for each in counts)]
    by_category = defaultdict[str, dict[str, int]](dict)
    for each in counts:
        by_category[each.category][each.state] = each.count
    totals = {state: sum(each.count for each in counts if each.state == state) for state in states}
    return visit.render_page("overview.html", states=states, by_category=by_category, totals=totals)


AREA = Area(name="overview", path="/", place=10)
routes: list[Route] = [make_page("/", show_overview)]
