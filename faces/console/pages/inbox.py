"""The inbox: what waits for a person, each with the words it came from, a yes, a no, other words, and a way back."""

from __future__ import annotations

from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from muniment.faces.console.areas import Area
from muniment.faces.console.forms import Form
from muniment.faces.console.visits import Visit, make_action, make_page
from muniment.memory.domain.console.inbox import INBOX_KINDS, InboxKind
from muniment.memory.domain.ids import MemoryId
from muniment.memory.errors import BadInput

_PAGE = 20
_DECIDED = 10
_MAX_OFFSET = 4_980
_MAX_TEXT = 4_000  # characters of what a person writes instead


async def show_inbox(visit: Visit) -> Response:
    """Show what waits, newest first, and what was decided lately."""
    return await _render_inbox(visit)


async def answer_item(visit: Visit, form: Form) -> Response:
    """Say yes or no to one thing that waits."""
    visit.caller.check_unlimited()
    kind, id_, is_yes = _parse_kind(form.get("kind")), _parse_id(form, "id"), _parse_answer(form)
    keep = MemoryId(_parse_id(form, "keep")) if kind == "conflict" and is_yes else None
    await visit.service.memory.inbox.answer_item(visit.caller.scope, kind, id_, approve=is_yes, keep=keep)
    return _return(visit, form, f"inbox.notice.{kind}_{'yes' if is_yes else 'no'}")


async def edit_item(visit: Visit, form: Form) -> Response:
    """Say yes to other words than those that wait."""
    visit.caller.check_unlimited()
    id_ = _parse_id(form, "id")
    try:
        await visit.service.memory.inbox.correct_item(visit.caller.scope, id_, _parse_text(form))
    except BadInput as error:
        text = form.get("text")[:_MAX_TEXT]
        return await _render_inbox(visit, edited=id_, text=text, problem=str(error), status=422)
    return _return(visit, form, "inbox.notice.edited")


async def undo_decision(visit: Visit, form: Form) -> Response:
    """Take a decision back."""
    visit.caller.check_unlimited()
    await visit.service.memory.inbox.undo_decision(visit.caller.scope, _parse_id(form, "id"))
    return _return(visit, form, "inbox.notice.undone")


async def _render_inbox(
    visit: Visit, *, edited: UUID | None = None, text: str = "", problem: str = "", status: int = 200
) -> Response:
    visit.caller.check_unlimited()
    chosen, offset = visit.request.query_params.get("kind", ""), _parse_offset(visit)
    asked: tuple[InboxKind, ...] = (_parse_kind(chosen),) if chosen else INBOX_KINDS
    inbox, scope = visit.service.memory.inbox, visit.caller.scope
    counts = await inbox.count_waiting(scope, known=visit.waiting)
    # A kind of which nothing waits is not looked for; of requests those are ended first that are overdue.
    kinds = [each for each in asked if each == "consent" or counts.count_kind(each)]
    items = await inbox.list_items(scope, kinds=kinds, limit=_PAGE + 1, offset=offset) if kinds else ()
    counts = await inbox.count_waiting(scope, known=counts)
    return visit.render_page(
        "inbox.html",
        status,
        items=items[:_PAGE],
        next_offset=offset + _PAGE if len(items) > _PAGE else None,
        offset=offset,
        counts=counts,
        kinds=INBOX_KINDS,
        chosen=chosen,
        decided=await inbox.list_decided(scope, _DECIDED),
        can_write=visit.grant.permits("write"),
        edited=edited,
        text=text,
        problem=problem,
    )


def _return(visit: Visit, form: Form, notice: str) -> Response:
    """Go back to the list that the form was in."""
    shown = form.get("shown")
    return visit.redirect_to("/inbox", notice, kind=shown if shown in INBOX_KINDS else None)


def _parse_kind(given: str) -> InboxKind:
    for kind in INBOX_KINDS:
        if given == kind:
            return kind
    raise BadInput(f"kind: one of {', '.join(INBOX_KINDS)} wanted")


def _parse_id(form: Form, name: str) -> UUID:
    try:
        return UUID(form.require_text(name))
    except ValueError:
        raise BadInput(f"{name}: an id wanted") from None


def _parse_text(form: Form) -> str:
    text = form.require_text("text")
    if len(text) > _MAX_TEXT:
        raise BadInput(f"text: has {len(text):,} characters; at most {_MAX_TEXT:,} are allowed")
    return text


def _parse_answer(form: Form) -> bool:
    answer = form.get("answer")
    if answer not in ("yes", "no"):
        raise BadInput("answer: yes or no wanted")
    return answer == "yes"


def _parse_offset(visit: Visit) -> int:
    given = visit.request.query_params.get("from", "")
    return min(int(given[:6]), _MAX_OFFSET) if given.isascii() and given.isdigit() else 0


AREA = Area(name="inbox", path="/inbox", place=40, for_whole_tokens=True)
routes: list[Route] = [
    make_page("/inbox", show_inbox),
    make_action("/inbox/answer", answer_item),
    make_action("/inbox/edit", edit_item),
    make_action("/inbox/undo", undo_decision),
]
