"""Sessions: what was said, in order, and the search in it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from muniment.faces.http.access import Reader, Writer
from muniment.faces.http.bodies import MAX_COUNT, EndBody, SessionBody, StrictRoute
from muniment.faces.http.errors import ERROR_RESPONSES, make_response
from muniment.faces.http.routes.session_answers import (
    FoundTurnsAnswer,
    SessionAnswer,
    SessionRecordAnswer,
    SessionsAnswer,
)
from muniment.memory import codec
from muniment.memory.domain.layers.session import SessionRequest
from muniment.memory.payload import FOUND_TURNS, encode_session, encode_turn

router = APIRouter(prefix="/v1", tags=["sessions"], route_class=StrictRoute, responses=ERROR_RESPONSES)
_MAX_PAGE = 1000
_Session = Annotated[str, Path(min_length=1, max_length=200, description="The id under which its turns were sent.")]
_Name = Annotated[str | None, Query(min_length=1, max_length=200)]
_Limit = Annotated[int, Query(ge=1, le=_MAX_PAGE)]


@router.get("/sessions", response_model=SessionsAnswer)
async def list_sessions(
    caller: Reader,
    project: _Name = None,
    app: _Name = None,
    ended: bool | None = None,
    limit: _Limit = 100,
    offset: Annotated[int, Query(ge=0, le=MAX_COUNT)] = 0,
) -> Response:
    """Return a page of sessions, the latest first. `next` is the offset of the page that follows."""
    caller.check_unlimited()
    request = SessionRequest(ended=ended, project=project, app=app, limit=limit, offset=offset)
    page = await caller.service.memory.sessions.list(caller.scope, request)
    after = offset + len(page.sessions)
    more = {"next": after} if page.sessions and after < page.total else {}
    sessions = [encode_session(session) for session in page.sessions]
    return make_response({"total": page.total, "offset": offset, **more, "sessions": sessions})


@router.get("/sessions/{session}", response_model=SessionRecordAnswer)
async def get_session(
    session: _Session,
    caller: Reader,
    since: Annotated[int, Query(ge=0, le=MAX_COUNT, description="The position to begin at.")] = 0,
    limit: _Limit = 100,
) -> Response:
    """Return a session and its events in order, from a position on, and what was found in all of them."""
    caller.check_unlimited()
    record = await caller.service.memory.sessions.get(caller.scope, session, since=since, limit=limit)
    turns, found = [*map(encode_turn, record.turns)], [codec.encode_record(each) for each in record.observations]
    return make_response({"session": encode_session(record.session), "turns": turns, "observations": found})


@router.post("/sessions/{session}/end", response_model=SessionAnswer)
async def end_session(session: _Session, body: EndBody, caller: Writer) -> Response:
    """Build memories from the turns that wait, and end the session. A later turn lets it go on."""
    caller.check_unlimited()
    return make_response(encode_session(await caller.service.memory.sessions.end(caller.scope, session, why=body.why)))


@router.post("/sessions/{session}/build", response_model=SessionAnswer)
async def build_session(session: _Session, caller: Writer) -> Response:
    """Build memories now from the turns that wait: before a host shortens a thread, for example."""
    caller.check_unlimited()
    return make_response(encode_session(await caller.service.memory.sessions.build(caller.scope, session)))


@router.patch("/sessions/{session}", response_model=SessionAnswer)
async def change_session(session: _Session, body: SessionBody, caller: Writer) -> Response:
    """Set members of the metadata of a session, or keep it for days of its own; null days are for ever."""
    caller.check_unlimited()
    sessions = caller.service.memory.sessions
    if "retention_days" in body.model_fields_set:
        await sessions.keep(caller.scope, session, days=body.retention_days)
    return make_response(encode_session(await sessions.describe(caller.scope, session, body.metadata)))


@router.get("/turns", response_model=FoundTurnsAnswer)
async def search_turns(
    caller: Reader,
    text: Annotated[str, Query(max_length=10_000, description="Words that were said.")],
    session: _Name = None,
    agent: Annotated[str | None, Query(min_length=1, max_length=200, description="Who asks.")] = None,
    limit: _Limit = FOUND_TURNS,
) -> Response:
    """Return the turns with these words, the best first; never an entry for an audit.

    A token of some agents, and a request that names one, need `session_ledger.search_agents` to name it."""
    asking = caller.choose_agent(agent) if agent is not None or caller.grant.agents else None
    search = caller.service.memory.sessions.search
    hits = await search(caller.scope, text, agent=asking, session=session, limit=limit)
    return make_response({"results": [{**encode_turn(hit.turn), "score": round(hit.score, 4)} for hit in hits]})
