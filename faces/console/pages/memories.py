"""The list of memories: searched, narrowed, changed several at once, and downloaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from starlette.datastructures import QueryParams
from starlette.responses import Response
from starlette.routing import Route

from muniment.faces.console.areas import Area
from muniment.faces.console.forms import Form
from muniment.faces.console.memories.batches import (
    INVERSES,
    VERBS,
    Item,
    Verb,
    apply_batch,
    check_verb,
    parse_keys,
    preview_batch,
)
from muniment.faces.console.memories.erasures import (
    MOST_ERASED,
    describe_losses,
    erase_all,
    find_losses,
    sum_losses,
)
from muniment.faces.console.memories.filters import PAGE, MemoryFilter, read_filter
from muniment.faces.console.visits import Visit, make_action, make_page
from muniment.faces.http.routes.transfer import send_export
from muniment.memory.domain.memory import KINDS, STATES, TRUSTS, StoredMemory
from muniment.memory.errors import BadInput

_FACETS = 50  # sources and agents that are offered


async def show_memories(visit: Visit) -> Response:
    """Show a page of memories, newest change first, or what answers a question, best first."""
    ways, problem, status = _list_ways(visit), "", 200
    try:
        chosen = read_filter(visit.request.query_params, ways)
    except BadInput as error:
        chosen, problem, status = read_filter(QueryParams(), ways), str(error), 422
    found: Sequence[StoredMemory] = ()
    total, following = 0, None
    if not problem:
        try:
            found, total = await _find_memories(visit, chosen)
        except BadInput as error:
            problem, status = str(error), 422
    if not chosen.is_question and len(found) == PAGE:
        following = visit.make_link("/memories", **chosen.move_after(found[-1]))
    facets = await visit.reads.memories.list_facets(visit.reader, _FACETS)
    return visit.render_page(
        "memories.html",
        status,
        filter=chosen,
        problem=problem,
        memories=found,
        total=total,
        ways=ways,
        first=visit.make_link("/memories", **chosen.address) if chosen.after else None,
        following=following,
        facets=facets,
        categories=sorted(visit.caller.allowed),
        kinds=KINDS,
        states=STATES,
        trusts=TRUSTS,
        verbs=VERBS,
        command=chosen.build_command(visit.shell_owner),
    )


async def preview_changes(visit: Visit, form: Form) -> Response:
    """Show what an action would do to the memories that are chosen."""
    keys = parse_keys(form.list_values("id"))
    if not keys:
        return visit.redirect_to("/memories", "memories.notice.none_chosen")
    verb = check_verb(form.get("action"))
    if verb == "erase":
        _check_erasure(visit, len(keys))
    items = await preview_batch(visit, verb, keys)
    return await _render_preview(visit, verb, items)


async def change_memories(visit: Visit, form: Form) -> Response:
    """Do an action to several memories, and show what became of each."""
    verb, keys = check_verb(form.get("action")), parse_keys(form.list_values("id"))
    items = await apply_batch(visit, verb, keys)
    return visit.render_page(
        "memories_changed.html",
        verb=verb,
        items=items,
        counts=_count_fates(items),
        inverse=INVERSES.get(verb),
    )


async def erase_memories(visit: Visit, form: Form) -> Response:
    """Erase several memories for good, and show the receipts; where something else would go by now than what was
    shown, show that."""
    keys = parse_keys(form.list_values("id"))
    _check_erasure(visit, len(keys))
    items = await preview_batch(visit, "erase", keys)
    memories = _list_changed(items)
    traces = await find_losses(visit, memories)
    if not memories or form.get("seen") != describe_losses(memories, traces):
        return await _render_preview(visit, "erase", items, has_changed=bool(memories))
    receipts, outcomes = await erase_all(visit, items)
    counts = sum((Counter(receipt.counts) for receipt in receipts), Counter[str]())
    return visit.render_page("memories_erased.html", receipts=receipts, outcomes=outcomes, counts=counts)


async def download_memory(visit: Visit) -> Response:
    """Send all of the user's memory as a file of JSON lines."""
    name = "memory.jsonl"
    return await send_export(visit.caller, headers={"Content-Disposition": f'attachment; filename="{name}"'})


async def _find_memories(visit: Visit, chosen: MemoryFilter) -> tuple[Sequence[StoredMemory], int]:
    """Return a page of what is asked for, and how many there are in all. Raises BadInput, Denied."""
    caller, memory = visit.caller, visit.service.memory
    if chosen.values["category"]:
        caller.check_categories((chosen.values["category"],))
    if chosen.is_question:
        answer = await memory.query(caller.scope, caller.choose_agent(chosen.way), chosen.make_query())
        hits = [hit.memory for hit in answer.hits if hit.shared_by is None and chosen.keeps_hit(hit.memory)]
        return hits, len(hits)
    page = await memory.list_page(caller.scope, chosen.make_listing(sorted(caller.allowed)))
    return page.memories, page.total


def _list_ways(visit: Visit) -> tuple[str, ...]:
    """Return the agents as which the visitor may ask, the one that reads most first."""
    allowlists = visit.service.settings.allowlists
    named = [agent for agent in visit.grant.agents or allowlists if agent in allowlists]
    return tuple(sorted(named, key=lambda agent: (-len(allowlists[agent]), agent)))


def _check_erasure(visit: Visit, count: int) -> None:
    """Raise Denied for a token of some agents, and BadInput for too many memories at once."""
    visit.caller.check_unlimited()
    if count > MOST_ERASED:
        raise BadInput(f"id: {count} memories are chosen; at most {MOST_ERASED} are erased at once")


async def _render_preview(visit: Visit, verb: Verb, items: Sequence[Item], *, has_changed: bool = False) -> Response:
    """Show what an action would do, and for an erasure what goes with it."""
    memories = _list_changed(items)
    traces = await find_losses(visit, memories) if verb == "erase" else []
    return visit.render_page(
        "memories_preview.html",
        409 if has_changed else 200,
        verb=verb,
        items=items,
        has_changed=has_changed,
        counts=_count_fates(items),
        loss=sum_losses(memories, traces) if traces else None,
        seen=describe_losses(memories, traces) if verb == "erase" else "",
        commands=[item.build_command(verb, visit.shell_owner) for item in items if item.fate == "changes"],
    )


def _list_changed(items: Sequence[Item]) -> list[StoredMemory]:
    return [item.memory for item in items if item.fate == "changes" and item.memory is not None]


def _count_fates(items: Sequence[Item]) -> Counter[str]:
    return Counter(item.fate for item in items)


AREA = Area(name="memories", path="/memories", place=20)
routes: list[Route] = [
    make_page("/memories", show_memories),
    make_page("/memories/export", download_memory),
    make_action("/memories/several/preview", preview_changes),
    make_action("/memories/several/changed", change_memories),
    make_action("/memories/several/preview/erase", erase_memories),
]
