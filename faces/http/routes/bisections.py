"""Which remembered statements made a reply."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from fastapi import APIRouter, Request, Response

from muniment.faces.http.access import Importer
from muniment.faces.http.answers import BisectAnswer
from muniment.faces.http.bodies import BisectBody, StrictRoute
from muniment.faces.http.errors import ERROR_RESPONSES, make_response
from muniment.faces.serving.reply_searches import ReplySearches
from muniment.memory.domain.layers.bisection import BisectRequest
from muniment.memory.errors import Busy
from muniment.memory.payload import encode_bisection
from muniment.memory.ports.layers.bisections import TurnReplay

router = APIRouter(tags=["sessions"], route_class=StrictRoute, responses=ERROR_RESPONSES)
_PATIENCE = 10.0  # seconds after which an answer says how far the search is
_GOES_ON = "The search goes on: the same request says how far it is, and has the result once it is there."


@router.post(
    "/v1/bisect", response_model=BisectAnswer, responses={202: {"model": BisectAnswer, "description": _GOES_ON}}
)
async def bisect_reply(body: BisectBody, caller: Importer, request: Request) -> Response:
    """Find which remembered statements made a reply: it is made again with fewer and fewer of them.

    Wants a token of all agents that may write: each reply is paid for, and kept, so that the same request goes on where
    a search was cut short, and costs nothing once its result is there."""
    caller.check_unlimited()
    memory = caller.service.memory
    asked = BisectRequest(expect=body.expect, judge=body.judge, runs=body.runs, missing=body.missing)
    scope = caller.make_scope(session=body.session, thread=body.thread or body.session)
    open_turn = await asyncio.to_thread(_load_opener)
    replay = await open_turn(memory, scope, body.turn)
    progress = await memory.replays.read_progress(scope, replay, asked)
    if progress.result is None:
        searches, key = _get_searches(request), (scope.space, scope.thread, body.session, body.turn, asked)
        options = body.model_dump(include={"expect", "judge", "runs", "missing"})
        if not searches.start(key, memory, partial(memory.bisect, scope, replay, **options)):
            raise Busy("bisect: other searches go on; try again when one has ended")
        await searches.wait_for_end(key, _PATIENCE)
        if (failure := searches.find_failure(key)) is not None:
            raise failure
        progress = await memory.replays.read_progress(scope, replay, asked)
    result = None if progress.result is None else encode_bisection(progress.result)
    return make_response({"replies": progress.replies, "result": result}, 202 if result is None else 200)


def _load_opener() -> Callable[..., Awaitable[TurnReplay]]:
    # Nothing for the start to wait for, nor for other requests.
    from muniment.graph.replay.turns import open_turn  # noqa: PLC0415 - LangGraph imports for a second

    return open_turn


def _get_searches(request: Request) -> ReplySearches:
    searches: ReplySearches = request.app.state.reply_searches
    return searches
