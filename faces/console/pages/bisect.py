"""Which memory made a reply: a form, how far the search has come, and what it has found."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from muniment.faces.console.forms import Form
from muniment.faces.console.pages.threads import read_number, read_session
from muniment.faces.console.visits import Visit, make_action, make_page
from muniment.faces.serving.reply_searches import ReplySearches
from muniment.memory.domain.layers.bisection import BisectRequest
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.memory.ports.layers.bisections import TurnReplay

_PATH = "/threads/bisect"
_RUNS = ("1", "3", "5", "9")
_FIELDS = ("expect", "judge", "runs", "missing")


@dataclass(frozen=True, slots=True)
class _Question:
    """What a form asks of which turn."""

    session: str
    position: int
    request: BisectRequest


async def show_bisect(visit: Visit) -> Response:
    """Show the form; with a question also how far its search has come, and what it has found. Nothing is asked of a
    model."""
    session, position = read_session(visit), read_number(visit, "at")
    given = {name: visit.request.query_params.get(name, "").strip() for name in _FIELDS}
    replay = await _open_turn(visit, session, position)
    request, problem = None, ""
    if given["expect"] or given["judge"]:
        try:
            request = _parse_request(given)
        except BadInput as error:
            problem = str(error)
    progress, is_running, failure = None, False, None
    if request is not None:
        try:
            progress = await visit.service.memory.replays.read_progress(_make_scope(visit, session), replay, request)
        except BadInput as error:
            problem = str(error)
        key, searches = _make_key(visit, _Question(session, position, request)), _get_searches(visit)
        is_running, failure = searches.is_running(key), searches.find_failure(key)
    return visit.render_page(
        "bisect.html",
        session=session,
        position=position,
        turn=replay.turn,
        given=given,
        runs=[(each, each) for each in _RUNS],
        progress=progress,
        result=progress.result if progress else None,
        is_running=is_running,
        failure=str(failure) if failure else "",
        problem=problem,
        command=_write_command(visit, session, position, given),
    )


async def start_bisect(visit: Visit, form: Form) -> Response:
    """Begin the search for what a form asks, or let it go on, and lead to its page."""
    session, position = read_session(visit), read_number(visit, "at")
    given = {name: form.get(name).strip() for name in _FIELDS}
    shown = {name: value for name, value in given.items() if value}

    def lead_back(notice: str | None = None) -> Response:
        parameters: dict[str, Any] = {"id": session, "at": position, **shown}
        return visit.redirect_to(_PATH, notice, **parameters)

    try:
        request = _parse_request(given)
    except BadInput:  # the page says what is wrong
        return lead_back()
    replay, scope, memory = (
        await _open_turn(visit, session, position),
        _make_scope(visit, session),
        visit.service.memory,
    )
    search = partial(
        memory.bisect,
        scope,
        replay,
        expect=request.expect,
        judge=request.judge,
        runs=request.runs,
        missing=request.missing,
    )
    key = _make_key(visit, _Question(session, position, request))
    if not _get_searches(visit).start(key, memory, search):
        return lead_back("bisect.notice.busy")
    return lead_back()


def _make_scope(visit: Visit, session: str) -> Scope:
    """Return the scope of a session as its turns were in."""
    return visit.caller.make_scope(session=session, thread=session)


async def _open_turn(visit: Visit, session: str, position: int) -> TurnReplay:
    """Return the turn at a position, to be made again. Raises NotFound, BadInput, StoreError."""
    load = await asyncio.to_thread(_load_opener)
    return await load(visit.service.memory, _make_scope(visit, session), position)


def _load_opener() -> Callable[..., Awaitable[TurnReplay]]:
    # Nothing for the start to wait for, nor for other requests.
    from muniment.graph.replay.turns import open_turn  # noqa: PLC0415 - LangGraph imports for a second

    return open_turn


def _parse_request(given: Mapping[str, str]) -> BisectRequest:
    runs = given["runs"] or "1"
    if runs not in _RUNS:
        raise BadInput(f"runs: one of {', '.join(_RUNS)} wanted")
    return BisectRequest(
        expect=given["expect"] or None,
        judge=given["judge"] or None,
        runs=int(runs),
        missing=bool(given["missing"]),
    )


def _make_key(visit: Visit, question: _Question) -> tuple[object, _Question]:
    return visit.caller.scope.space, question


def _get_searches(visit: Visit) -> ReplySearches:
    searches: ReplySearches = visit.request.app.state.reply_searches
    return searches


def _write_command(visit: Visit, session: str, position: int, given: Mapping[str, str]) -> str:
    asked = [f"--{name} {shlex.quote(given[name])}" for name in ("expect", "judge") if given[name]] or [
        "--expect PATTERN"
    ]
    more = [f"--runs {shlex.quote(given['runs'])}"] if given["runs"] not in ("", "1") else []
    more += ["--missing"] if given["missing"] else []
    words = ["muniment bisect", f"--thread {shlex.quote(session)}", f"--turn {position}", *asked, *more]
    return " ".join([*words, f"--user {visit.shell_owner}"])


routes: list[Route] = [make_page(_PATH, show_bisect), make_action(_PATH, start_bisect)]
